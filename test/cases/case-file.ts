/** A case as it is stored: source text, a line that says `=== expected ===`, the expectation. */
export interface CaseFile {
  /** With its final line break, as it stands before the separator. */
  readonly source: string
  /** Missing in a new case that nobody has accepted yet. */
  readonly expected: string | undefined
}

const separator = "=== expected ===\n"

export function readCase(text: string): CaseFile {
  const at = text.startsWith(separator) ? 0 : text.indexOf(`\n${separator}`) + 1
  if (at === 0 && !text.startsWith(separator)) return { source: text, expected: undefined }
  return { source: text.slice(0, at), expected: text.slice(at + separator.length) }
}

export function writeCase(source: string, expected: string): string {
  const closed = source === "" || source.endsWith("\n") ? source : `${source}\n`
  return `${closed}${separator}${withFinalBreak(expected)}`
}

/** A rendered expectation as the file holds it. */
export function withFinalBreak(rendered: string): string {
  return rendered.endsWith("\n") ? rendered : `${rendered}\n`
}
