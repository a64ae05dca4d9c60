import { codePointCount, perPoint } from "../../../base/code-points.ts"
import { occurrences } from "../../../base/contains-text.ts"
import type { JsonValue } from "../../../base/json-value.ts"
import { failure } from "../../../ports/run-failure.ts"
import { parseJson, whyUnread } from "../parse-json.ts"
import type { Steps } from "../steps.ts"
import { ArrayBuilder, TextBuilder, textSteps } from "../value-builders.ts"
import type { FunctionCall } from "./function-call.ts"
import { isLongJson, jsonSteps } from "./json-steps.ts"

/** Changing the case of a character takes as long as copying this many. */
const perCasedCharacter = 24
const piece = 64 * 1024
/** One character may become three. */
const maxGrowth = 3

function cased(call: FunctionCall, change: (text: string) => string): string {
  const text = call.text(0)
  call.spend(text.length * perCasedCharacter)
  let bytes = call.bytes(text)
  const { largest } = call.scope.work
  if (bytes * maxGrowth > largest) {
    // Measured in pieces before it is made.
    bytes = 2
    for (let from = 0; from < text.length;) {
      let to = from + piece
      const unit = text.charCodeAt(to - 1)
      if (unit >= 0xd800 && unit < 0xdc00) to++
      bytes += call.bytes(change(text.slice(from, to)), bytes) - 2
      from = to
    }
  }
  return call.madeText(change(text))
}

export function lower(call: FunctionCall): JsonValue {
  return cased(call, (text) => text.toLowerCase())
}

export function upper(call: FunctionCall): JsonValue {
  return cased(call, (text) => text.toUpperCase())
}

export function trim(call: FunctionCall): JsonValue {
  const text = call.text(0)
  call.spend(text.length)
  return text.trim()
}

/** Counts the search for one text in another: long ones are searched more slowly. */
function search(call: FunctionCall, text: string, wanted: string): void {
  call.spend(text.length * (wanted.length > 64 ? 16 : 1))
}

export function* split(call: FunctionCall): Steps<JsonValue> {
  const [text, separator] = [call.text(0), call.text(1)]
  const pieces = new ArrayBuilder(call.scope)
  if (separator === "") {
    call.spend(perPoint * text.length)
    // Each has a character, its quotes and a comma.
    call.checkSize(4 * codePointCount(text))
    for (const point of text) {
      if (call.isDue) yield null
      call.cut(1)
      pieces.add(point)
    }
    return pieces.array
  }
  search(call, text, separator)
  let from = 0
  const add = (to: number): void => {
    call.cut(1)
    pieces.add(text.slice(from, to))
  }
  for (const at of occurrences(text, separator)) {
    if (call.isDue) yield null
    add(at)
    from = at + separator.length
  }
  add(text.length)
  return pieces.array
}

/** Finding an end of line takes as long as copying this many characters. */
const perMatch = 128

export function* lines(call: FunctionCall): Steps<JsonValue> {
  const text = call.text(0)
  call.spend(text.length)
  const found = new ArrayBuilder(call.scope)
  const ends = /\r\n|\n|\r/g
  let from = 0
  const add = (to: number): void => {
    call.cut(1)
    found.add(text.slice(from, to))
  }
  for (let end = ends.exec(text); end !== null; end = ends.exec(text)) {
    if (call.isDue) yield null
    call.spend(perMatch)
    add(end.index)
    from = ends.lastIndex
  }
  if (from < text.length) add(text.length)
  return found.array
}

/** Elements that are joined at once. */
const perStep = 1024

export function* join(call: FunctionCall): Steps<JsonValue> {
  const [list, separator] = [call.list(0), call.text(1)]
  const { work, path } = call.scope
  const perSeparator = call.bytes(separator) - 2
  let bytes = 2
  let whole = ""
  for (let from = 0; from < list.length; from += perStep) {
    if (call.isDue) yield null
    const part: (string | number | boolean)[] = []
    const to = Math.min(from + perStep, list.length)
    call.make(2 * (to - from))
    let more = perSeparator * (from === 0 ? to - 1 : to - from)
    for (let at = from; at < to; at++) {
      const value = list[at] ?? null
      if (value === null || typeof value === "object")
        return call.refuse("an array of strings, numbers or booleans", value)
      more += call.bytes(value, bytes + more) - (typeof value === "string" ? 2 : 0)
      part.push(value)
    }
    work.text(more, path)
    bytes += more
    call.checkSize(bytes)
    whole += from === 0 ? part.join(separator) : separator + part.join(separator)
  }
  work.remember(whole, bytes)
  return whole
}

export function* replace(call: FunctionCall): Steps<JsonValue> {
  const [text, from, to] = [call.text(0), call.text(1), call.text(2)]
  if (from === "") call.fail("the text to replace is empty")
  search(call, text, from)
  const whole = new TextBuilder(call.scope)
  let kept = 0
  for (const at of occurrences(text, from)) {
    if (call.isDue) yield null
    call.cut(2)
    whole.add(text.slice(kept, at))
    whole.add(to)
    kept = at + from.length
  }
  if (kept === 0) return text
  whole.add(text.slice(kept))
  return whole.text
}

export function startsWith(call: FunctionCall): JsonValue {
  const [text, start] = [call.text(0), call.text(1)]
  call.spend(start.length)
  return text.startsWith(start)
}

export function endsWith(call: FunctionCall): JsonValue {
  const [text, end] = [call.text(0), call.text(1)]
  call.spend(end.length)
  return text.endsWith(end)
}

export function* text(call: FunctionCall): Steps<JsonValue> {
  return yield* textSteps(call.item(0), call.scope)
}

export function* json(call: FunctionCall): Steps<JsonValue> {
  const value = call.item(0)
  const { work, path } = call.scope
  if (isLongJson(value, call.scope)) {
    call.bytes(value)
    return (yield* jsonSteps(value, call.scope)).text
  }
  const bytes = work.written(value, 0, path)
  const written = JSON.stringify(value)
  work.text(bytes, path)
  // Quotes and backslashes are written again where the text stands in another value.
  call.bytes(written)
  return written
}

function refuseJson(call: FunctionCall, text: string): never {
  const { problem, isLimit } = whyUnread(text)
  if (isLimit) throw failure("limit_exceeded", call.scope.path, `The text for parse_json ${problem}`)
  return call.fail(`the text ${problem}`)
}

/** Reading a character of JSON takes as long as copying this many. */
const perJsonCharacter = 8

export function parseJsonText(call: FunctionCall): JsonValue {
  const text = call.text(0)
  call.spend(text.length * perJsonCharacter)
  const value = parseJson(text)
  if (value === undefined) return refuseJson(call, text)
  call.madeText(text)
  call.bytes(value)
  return value
}
