/** A wrong escape, and the offset where the text goes on after it. */
export interface WrongEscape {
  readonly end: number
  readonly message: string
  readonly hint: string
}

/** Explains an escape that does not exist; undefined for a backslash at the end of a line. */
export function wrongEscape(text: string, at: number): WrongEscape | undefined {
  escape.lastIndex = at
  const written = escape.exec(text)?.[0]
  if (written === undefined) return undefined
  const end = at + written.length
  if (written.startsWith("\\u")) {
    const hint = "Write `\\u{…}` with the code point in hex, such as `\\u{1F600}`."
    return { end, message: "Invalid Unicode escape", hint }
  }
  const hint = 'Known escapes: `\\\\` `\\"` `\\n` `\\r` `\\t` `\\{` `\\}` `\\u{…}`.'
  return { end, message: `Unknown escape \`${written}\``, hint }
}

const escape = /\\(?:u\{\w*\}?|[^\r\n])/uy
