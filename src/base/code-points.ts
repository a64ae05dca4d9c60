// Texts by code points: JavaScript counts UTF-16 units, of which a code point above U+FFFF has two.

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000
}

/** Counting a code point takes as long as copying this many characters. */
export const perPoint = 4

/** How many code points a text has. */
export function codePointCount(text: string): number {
  if (!/[\uD800-\uDFFF]/.test(text)) return text.length
  let pairs = 0
  for (let at = 1; at < text.length; at++) {
    if (isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1))) pairs++
  }
  return text.length - pairs
}

/** The code points from one position up to another; `count` is that of the text. */
export function sliceCodePoints(text: string, from: number, to: number, count: number): string {
  if (count === text.length) return text.slice(from, to)
  const start = offsetAfter(text, 0, from)
  return text.slice(start, offsetAfter(text, start, to - from))
}

/** Where the code point `count` places after an offset begins, or the text ends. */
export function offsetAfter(text: string, from: number, count: number): number {
  let at = from
  for (let left = count; left > 0 && at < text.length; left--) {
    at += isHigh(text.charCodeAt(at)) && isLow(text.charCodeAt(at + 1)) ? 2 : 1
  }
  return at
}
