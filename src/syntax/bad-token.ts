import { cutText } from "../base/cut-text.ts"
import { widthAt } from "../base/width-at.ts"
import { type Hint, write } from "../source/hint.ts"

/** Where a run of characters ends that begin nothing, or a whole string in the quotes of other languages. */
export function endOfBad(text: string, start: number): number {
  foreignString.lastIndex = start
  if (foreignString.test(text)) return foreignString.lastIndex
  const more = isNonTextAt(text, start) ? nonText : bad
  more.lastIndex = start + widthAt(text, start)
  more.test(text)
  return more.lastIndex
}

/** `'''…'''` and `<<EOF … EOF` over a few lines; `'…'`, `` `…` `` or `“…”` within one. */
const foreignString =
  /'''(?:[^\n]*\n){0,40}?[^\n]*?'''|<<[-~]?(\w+)[^\S\n]*\n(?:[^\n]*\n){0,40}?[ \t]*\1\b|'[^'\r\n]*'|`[^`\r\n]*`|[\u201C\u201D\u201E][^\u201C\u201D"\r\n]*[\u201C\u201D]/y

/** NULs and halves of surrogate pairs. */
const nonText = /[\0\p{Cs}]*/uy

/** What no token begins with, but for foreign quotes: those may begin a string. */
const bad = /(?:[!$&<=>@\\^~\x7f]|\?(?![.?])|[^\0-\x7f\u201C-\u201E\p{Cs}])*/uy

/** Explains a `bad` token by its text; undefined where the lexer has reported it already. */
export function explainBad(written: string): { message: string; hint?: Hint } | undefined {
  if (isNonTextAt(written, 0)) return undefined
  const point = written.codePointAt(0) ?? 0
  const shown = cutText(written, 40)
  if (/^'''|\n/.test(written)) return { message: textOverLines }
  if (/^['`\u2018-\u201F]/.test(written)) {
    if (written.startsWith("`")) return { message: 'Strings are written with `"`, not with backticks' }
    const message = `Strings are written with \`"\`, not with \`${written.length > 1 ? written[0] : shown}\``
    const [, text] = /^'([^']*)'$/.exec(written) ?? []
    return {
      message,
      ...(text !== undefined && {
        hint: write(JSON.stringify(text), undefined, `Write \`${JSON.stringify(cutText(text, 60))}\`.`),
      }),
    }
  }
  if (isInvisible(point)) {
    return { message: `Unexpected invisible character ${codePoint(point)}`, hint: "Remove it, or write a plain space." }
  }
  const what = written.length === widthAt(written, 0) ? "character" : "characters"
  const hint = hintFor(written)
  const message = `Unexpected ${what} \`${shown}\``
  return hint === undefined ? { message } : { message, hint }
}

export const textOverLines = 'A text of several lines is written in `"""`'

/** NULs and halves of surrogate pairs are not text: the lexer reports them wherever they stand, strings included. */
function isNonTextAt(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit === 0 || (unit >= 0xd800 && unit <= 0xdfff && widthAt(text, at) === 1)
}

function isInvisible(point: number): boolean {
  return /^[\p{Z}\p{C}]/u.test(String.fromCodePoint(point))
}

function codePoint(point: number): string {
  return `U+${point.toString(16).toUpperCase().padStart(4, "0")}`
}

function hintFor(written: string): string | undefined {
  if (/^[\p{L}\p{N}\p{M}]/u.test(written)) return "A name is made of the letters A to Z, digits and `_`."
  if (written.startsWith("<!")) return "A comment begins with `//`."
  switch (written[0]) {
    case "=":
      return `A value follows \`:\`, not \`${written.startsWith("=>") ? "=>" : "="}\`.`
    case "?":
      return "A type that may be null is `maybe …`; a value that may be null is read with `?.` and `??`."
    case "<":
      return "An array type is written `[string]`."
    case "&":
      return "Both of two conditions is written `&&`."
    case "!":
      return "A comparison is written `!=`."
    case "^":
      return "There is no sign for powers: multiply."
    case "@":
      return "A description is written above: `/// text`."
    case "$":
      return "A name is made of the letters A to Z, digits and `_`."
    default:
      return undefined
  }
}
