import { offsetAfter, perPoint } from "../../../base/code-points.ts"
import type { JsonValue } from "../../../base/json-value.ts"
import type { Steps } from "../steps.ts"
import { ArrayBuilder } from "../value-builders.ts"
import type { FunctionCall } from "./function-call.ts"

// Long texts in parts, by code points.

/** How many code points the parts have, from 1. */
function sizeAt(call: FunctionCall, at: number, what: string): number {
  const size = call.integerAt(at)
  return size < 1 ? call.fail(`the size of ${what} is 1 at least`) : size
}

/** Where the code point `count` places after an offset begins, or the text ends. Without surrogates that need not be counted. */
function offsets(call: FunctionCall, text: string): (from: number, count: number) => number {
  call.spend(text.length)
  if (!/[\uD800-\uDFFF]/.test(text)) return (from, count) => Math.min(text.length, from + count)
  return (from, count) => {
    call.spend(perPoint * Math.min(count, text.length - from))
    return offsetAfter(text, from, count)
  }
}

export function* textChunks(call: FunctionCall): Steps<JsonValue> {
  const [text, size] = [call.text(0), sizeAt(call, 1, "a chunk")]
  const overlap = call.count > 2 ? call.integerAt(2) : 0
  if (overlap < 0 || overlap >= size) call.fail("the overlap is 0 at least, and less than the size")
  const after = offsets(call, text)
  const made = new ArrayBuilder(call.scope)
  for (let from = 0; from < text.length; from = after(from, size - overlap)) {
    if (call.isDue) yield null
    const end = after(from, size)
    call.cut(1)
    made.add(text.slice(from, end))
    // This chunk has the rest.
    if (end === text.length) break
  }
  return made.array
}

/** Looking for the place to cut, once through a piece for each kind of place. */
const perCharacter = 4

export function* pieces(call: FunctionCall): Steps<JsonValue> {
  const [text, size] = [call.text(0), sizeAt(call, 1, "a piece")]
  const after = offsets(call, text)
  const made = new ArrayBuilder(call.scope)
  for (let from = 0; from < text.length;) {
    if (call.isDue) yield null
    let end = after(from, size)
    if (end < text.length) {
      // CRLF is not torn apart.
      if (end - from > 1 && text.charCodeAt(end - 1) === 13 && text.charCodeAt(end) === 10) end--
      call.spend(perCharacter * (end - from))
      end = from + cutOf(text.slice(from, end))
    }
    call.cut(1)
    made.add(text.slice(from, end))
    from = end
  }
  return made.array
}

/** How long the piece is that is cut from the window: up to the last blank line, line end, sentence end or blank in it; else all of it. */
function cutOf(window: string): number {
  return blankLine(window) || lineEnd(window) || sentenceEnd(window) || blank(window) || window.length
}

function lineEnd(window: string): number {
  return Math.max(window.lastIndexOf("\n"), window.lastIndexOf("\r")) + 1
}

function blankLine(window: string): number {
  let later = -1
  for (let at = window.length - 1; at >= 0; at--) {
    const unit = window.charCodeAt(at)
    if (unit === 10 || (unit === 13 && window.charCodeAt(at + 1) !== 10)) {
      // Only blanks are between the two ends.
      if (later >= 0) return later + 1
      later = at
    } else if (unit !== 13 && unit !== 32 && unit !== 9) later = -1
  }
  return 0
}

const marks = /[.!?\u2026]/
const closers = /["'\u201d\u2019\u00bb)\]]/
/** They need no blank after them. */
const wideMarks = /[\u3002\uff01\uff1f]/
const blanks = /\s/

function sentenceEnd(window: string): number {
  let cut = 0
  let isAfterMark = false
  for (let at = 0; at < window.length; at++) {
    const character = window.charAt(at)
    if (wideMarks.test(character)) {
      cut = at + 1
      isAfterMark = true
    } else if (marks.test(character)) isAfterMark = true
    else if (!isAfterMark) continue
    else if (blanks.test(character)) cut = at + 1
    else if (!closers.test(character) || blanks.test(window.charAt(at - 1))) isAfterMark = false
  }
  return cut
}

function blank(window: string): number {
  for (let at = window.length - 1; at >= 0; at--) if (blanks.test(window.charAt(at))) return at + 1
  return 0
}
