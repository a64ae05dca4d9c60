import { cutText } from "../../base/cut-text.ts"
import { withoutHidden } from "../../base/visible-text.ts"

// What a server says of itself reaches models, logs and terminals: nothing in it may steer them, or be hidden in it.

/** Text of several lines, without invisible characters, cut to this length. */
export function cleanText(text: string, most: number): string {
  return cutText(withoutHidden(text).trim(), most)
}

/** The same on one line. */
export function cleanLine(text: string, most = 500): string {
  return cutText(cleanText(text, most * 4).replaceAll(/\s+/g, " "), most)
}
