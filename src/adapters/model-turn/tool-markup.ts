/** How models write tool calls when their server did not recognise them. */
const markup =
  /<\|?tool_calls?\|?>|<\/?tool_call>|\[TOOL_CALLS\]|<\|python_tag\|>|<function=[\w.-]+>|<function_calls?>|<\|tool_calls_section_begin\|>|<\|tool▁calls▁begin\|>|<｜tool▁calls▁begin｜>|<\|channel\|>commentary to=functions\./

/** Whether a text holds a tool call that came out as text. */
export function holdsToolMarkup(text: string): boolean {
  return markup.test(text)
}
