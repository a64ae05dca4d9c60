import { escapeHidden } from "../base/visible-text.ts"

/** A text as a string of the language, on one line: the escapes are those that the lexer reads. */
export function quoteText(text: string): string {
  const plain = text
    .toWellFormed()
    .replaceAll(/["\\]/g, "\\$&")
    .replaceAll("\n", "\\n")
    .replaceAll("\r", "\\r")
    .replaceAll("\t", "\\t")
    .replaceAll("{{", "\\{\\{")
    .replaceAll("}}", "\\}\\}")
  return `"${escapeHidden(plain, (code) => `\\u{${code.toString(16)}}`)}"`
}
