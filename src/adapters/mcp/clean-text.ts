import { cutText } from "../../base/cut-text.ts"

// What a server says of itself reaches models, logs and terminals: nothing in it may steer them, or be hidden in it.

/** Control characters but tab and line feed, those that turn or hide text, and tags that models read and people do not see. */
const hidden =
  /(?![\t\n])[\p{Cc}\p{Bidi_Control}\u200b\u2028\u2029\u2060-\u2064\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/** Text of several lines, without what cannot be seen, of at most so many characters. */
export function cleanText(text: string, most: number): string {
  const lines = text.toWellFormed().replaceAll(/\r\n?/g, "\n").replaceAll(hidden, "")
  return cutText(lines.trim(), most)
}

/** The same on one line. */
export function cleanLine(text: string, most = 500): string {
  return cutText(cleanText(text, most * 4).replaceAll(/\s+/g, " "), most)
}
