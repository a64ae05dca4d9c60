import { Ajv2020 } from "ajv/dist/2020.js"

// What Open Responses (openresponses.org) asks of a response and of the events of its stream, as far as a text reply goes: which fields there must be, of which
// type. Fields that the page does not know are allowed by it.

type Schema = Readonly<Record<string, unknown>>

const text: Schema = { type: "string" }
const whole: Schema = { type: "integer" }
const flag: Schema = { type: "boolean" }
const number: Schema = { type: "number" }
const maybe = (schema: Schema): Schema => ({ anyOf: [schema, { type: "null" }] })
const list = (items: Schema): Schema => ({ type: "array", items })
const words = (...values: readonly string[]): Schema => ({ enum: values })
/** An object that has all of these fields. */
const has = (properties: Readonly<Record<string, Schema>>): Schema => ({
  type: "object",
  properties,
  required: Object.keys(properties),
})

const outputText = has({ type: words("output_text"), text, annotations: list({}), logprobs: list({}) })
const message = has({
  type: words("message"),
  id: text,
  status: words("in_progress", "completed", "incomplete"),
  role: words("assistant"),
  content: list(outputText),
})
const usage = has({
  input_tokens: whole,
  output_tokens: whole,
  total_tokens: whole,
  input_tokens_details: has({ cached_tokens: whole }),
  output_tokens_details: has({ reasoning_tokens: whole }),
})
const response = has({
  id: text,
  object: words("response"),
  created_at: whole,
  completed_at: maybe(whole),
  status: words("queued", "in_progress", "completed", "incomplete", "failed", "cancelled"),
  incomplete_details: maybe(has({ reason: text })),
  model: text,
  previous_response_id: maybe(text),
  instructions: maybe(text),
  output: list(message),
  error: maybe(has({ code: text, message: text })),
  tools: list({}),
  tool_choice: words("none", "auto", "required"),
  truncation: words("auto", "disabled"),
  parallel_tool_calls: flag,
  text: has({ format: has({ type: words("text") }) }),
  top_p: number,
  presence_penalty: number,
  frequency_penalty: number,
  top_logprobs: whole,
  temperature: number,
  reasoning: maybe(has({ effort: maybe(text), summary: maybe(text) })),
  user: maybe(text),
  usage: maybe(usage),
  max_output_tokens: maybe(whole),
  max_tool_calls: maybe(whole),
  store: flag,
  background: flag,
  service_tier: text,
  metadata: { type: "object", additionalProperties: text },
  safety_identifier: maybe(text),
  prompt_cache_key: maybe(text),
})

const place = { item_id: text, output_index: whole, content_index: whole }
const fields: Readonly<Record<string, Readonly<Record<string, Schema>>>> = {
  "response.created": { response },
  "response.queued": { response },
  "response.in_progress": { response },
  "response.completed": { response },
  "response.failed": { response },
  "response.incomplete": { response },
  "response.output_item.added": { output_index: whole, item: message },
  "response.output_item.done": { output_index: whole, item: message },
  "response.content_part.added": { ...place, part: outputText },
  "response.content_part.done": { ...place, part: outputText },
  "response.output_text.delta": { ...place, delta: text, logprobs: list({}) },
  "response.output_text.done": { ...place, text, logprobs: list({}) },
}

const ajv = new Ajv2020({ allErrors: true })
const isResponse = ajv.compile(response)
const isEvent = new Map(
  Object.entries(fields).map(([type, own]) => [
    type,
    ajv.compile(has({ type: words(type), sequence_number: whole, ...own })),
  ]),
)

/** Problems of a response. */
export function responseProblems(value: unknown): string[] {
  return isResponse(value) ? [] : [`${ajv.errorsText(isResponse.errors)}: ${JSON.stringify(value)}`]
}

/** Problems of a whole stream: its events, their numbers, its end. */
export function streamProblems(body: string): string[] {
  const frames = body.trimEnd().split("\n\n")
  const problems = frames.pop() === "data: [DONE]" ? [] : [`The stream does not end with [DONE]: ${body.slice(-200)}`]
  for (const [at, frame] of frames.entries()) {
    const [, name = "", data = "{}"] = /^event: (\S+)\ndata: (.*)$/.exec(frame) ?? []
    const event = JSON.parse(data) as { readonly type?: string; readonly sequence_number?: number }
    const judge = isEvent.get(name)
    if (judge === undefined) problems.push(`Unknown event: ${frame}`)
    else if (!judge(event)) problems.push(`${name}: ${ajv.errorsText(judge.errors)}: ${data}`)
    if (event.type !== name || event.sequence_number !== at) problems.push(`Event ${at} is ${frame}`)
  }
  return problems
}
