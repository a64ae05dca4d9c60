import { createHash } from "node:crypto"
import { canonicalJson } from "../../../base/canonical-json.ts"
import { codePointCount, perPoint, sliceCodePoints } from "../../../base/code-points.ts"
import { compareCodePoints } from "../../../base/compare-code-points.ts"
import { isJsonObject } from "../../../base/is-json-object.ts"
import type { JsonValue } from "../../../base/json-value.ts"
import { describe } from "../scope.ts"
import type { Steps } from "../steps.ts"
import { ArrayBuilder } from "../value-builders.ts"
import type { FunctionCall } from "./function-call.ts"
import { textChunks } from "./pieces.ts"

export function length(call: FunctionCall): JsonValue {
  const value = call.item(0)
  if (Array.isArray(value)) return value.length
  if (isJsonObject(value)) {
    const { length: count } = Object.keys(value)
    call.look(count)
    return count
  }
  if (typeof value !== "string") return call.refuse("a string, an array or a map", value)
  call.spend(perPoint * value.length)
  return codePointCount(value)
}

/** A position, counted from the end where it is negative, and never outside. */
function clamped(position: number, count: number): number {
  return Math.max(0, Math.min(count, position < 0 ? count + position : position))
}

export function slice(call: FunctionCall): JsonValue {
  const value = call.item(0)
  const [from, to] = [call.integerAt(1), call.count > 2 ? call.integerAt(2) : null]
  if (typeof value !== "string" && !Array.isArray(value)) return call.refuse("a string or an array", value)
  if (typeof value === "string") call.spend(2 * perPoint * value.length)
  const count = typeof value === "string" ? codePointCount(value) : value.length
  const start = clamped(from, count)
  const end = Math.max(start, to === null ? count : clamped(to, count))
  if (typeof value === "string") return call.madeText(sliceCodePoints(value, start, end, count))
  call.make(end - start)
  return value.slice(start, end)
}

export function at(call: FunctionCall): JsonValue {
  const value = call.item(0)
  if (Array.isArray(value)) return value.at(call.integerAt(1)) ?? null
  if (!isJsonObject(value)) return call.refuse("an array or an object", value)
  const key = call.text(1)
  return Object.hasOwn(value, key) ? (value[key] ?? null) : null
}

/** Comparing a character takes as long as copying this many. */
const perCompared = 6

/** The first element that comes before all others; `sign` turns the order around. */
function extreme(call: FunctionCall, sign: 1 | -1): JsonValue {
  const list = call.list(0)
  call.look(list.length)
  let best: string | number | null = null
  for (const value of list) {
    if (typeof value !== "string" && typeof value !== "number") {
      return call.refuse("an array of numbers or of strings", value)
    }
    if (best === null) best = value
    else if (typeof value === "number" && typeof best === "number") {
      if (sign * (value - best) < 0) best = value
    } else if (typeof value === "string" && typeof best === "string") {
      call.spend(64 + perCompared * Math.min(value.length, best.length))
      if (sign * compareCodePoints(value, best) < 0) best = value
    } else return call.fail("numbers and strings have no common order")
  }
  return best
}

export function min(call: FunctionCall): JsonValue {
  return extreme(call, 1)
}

export function max(call: FunctionCall): JsonValue {
  return extreme(call, -1)
}

export function first(call: FunctionCall): JsonValue {
  return call.list(0)[0] ?? null
}

export function last(call: FunctionCall): JsonValue {
  return call.list(0).at(-1) ?? null
}

export function reverse(call: FunctionCall): JsonValue {
  const list = call.list(0)
  call.make(list.length)
  return list.toReversed()
}

/** V8 hashes longer texts by their length alone: a set of many of one length would compare each with each. */
const longText = 10_000
/** Looking for a number, a text or a boolean among others, besides its characters. */
const perElement = 32
/** Writing the key of an array or object, besides its characters. */
const perKey = 2048
/** Hashing a character takes as long as copying this many. */
const perHashed = 4

export function* unique(call: FunctionCall): Steps<JsonValue> {
  const list = call.list(0)
  const kept: JsonValue[] = []
  const scalars = new Set<JsonValue>()
  /** Keys of long texts, arrays and objects. */
  const keys = new Set<string>()
  /** The arrays and objects among them. */
  const known = new Set<JsonValue>()
  for (const value of list) {
    if (call.isDue) yield null
    call.make(2)
    const before = scalars.size + keys.size
    if (typeof value === "object" && value !== null) {
      if (known.has(value)) continue
      known.add(value)
      keys.add(keyOfPart(call, value))
    } else if (typeof value === "string" && value.length >= longText) keys.add(hashed(call, `"${value}`))
    else {
      call.spend(typeof value === "string" ? perElement + value.length : perElement)
      scalars.add(value)
    }
    if (scalars.size + keys.size > before) kept.push(value)
  }
  return kept
}

/** A text that only equal arrays and objects share. */
function keyOfPart(call: FunctionCall, value: JsonValue): string {
  call.spend(perKey + 4 * call.scope.work.written(value, 0, call.scope.path))
  const text = canonicalJson(value)
  call.spend(text.length)
  return text.length < longText ? text : hashed(call, text)
}

function hashed(call: FunctionCall, text: string): string {
  call.spend(perHashed * text.length)
  return createHash("sha256").update(text, "utf16le").digest("base64")
}

export function flatten(call: FunctionCall): JsonValue {
  const list = call.list(0)
  call.look(list.length)
  const lists: (readonly JsonValue[])[] = []
  for (const value of list) {
    if (!Array.isArray(value)) return call.refuse("an array of arrays", value)
    lists.push(value)
  }
  return joined(call, lists)
}

export function concat(call: FunctionCall): JsonValue {
  const lists: (readonly JsonValue[])[] = []
  for (let at = 0; at < call.count; at++) lists.push(call.list(at))
  return joined(call, lists)
}

/** Measuring an array, besides its elements. */
const perList = 128

/** All elements in one array, measured before it is made. */
function joined(call: FunctionCall, lists: readonly (readonly JsonValue[])[]): JsonValue {
  let bytes = 2
  let count = 0
  call.spend(perList * lists.length)
  for (const list of lists) {
    if (list.length === 0) continue
    bytes += call.bytes(list as JsonValue, bytes) - 1
    count += list.length
    call.checkSize(bytes)
  }
  call.make(count)
  const whole: JsonValue[] = []
  for (const list of lists) for (const value of list) whole.push(value)
  return whole
}

export function* chunks(call: FunctionCall): Steps<JsonValue> {
  if (typeof call.item(0) === "string") return yield* textChunks(call)
  if (!Array.isArray(call.item(0))) return call.refuse("a string or an array", call.item(0))
  if (call.count > 2) call.fail("only chunks of a text overlap")
  const [list, size] = [call.list(0), call.integerAt(1)]
  if (size < 1) call.fail("the size of a chunk is 1 at least")
  const count = Math.ceil(list.length / size)
  call.checkSize(call.bytes(list as JsonValue) + 2 * count)
  call.make(list.length + count)
  const made: JsonValue[] = []
  for (let from = 0; from < list.length; from += size) made.push(list.slice(from, from + size))
  return made
}

export function* zip(call: FunctionCall): Steps<JsonValue> {
  const [one, other] = [call.list(0), call.list(1)]
  const count = Math.min(one.length, other.length)
  const pairs = new ArrayBuilder(call.scope)
  for (let at = 0; at < count; at++) {
    if (call.isDue) yield null
    call.make(10)
    pairs.add([one[at] ?? null, other[at] ?? null])
  }
  return pairs.array
}

const longestRange = 100_000

export function range(call: FunctionCall): JsonValue {
  const [from, to] = call.count === 1 ? [0, call.integerAt(0)] : [call.integerAt(0), call.integerAt(1)]
  const count = Math.max(0, to - from)
  if (count > longestRange) call.fail(`a range has at most ${longestRange} elements`)
  call.make(count)
  const made: number[] = []
  for (let at = 0; at < count; at++) made.push(from + at)
  return made
}

export function any(call: FunctionCall): JsonValue {
  return call.booleans(0).includes(true)
}

export function all(call: FunctionCall): JsonValue {
  return !call.booleans(0).includes(false)
}

/** The elements by the value of a field, in the order in which the values are met first. */
function* groupsOf(call: FunctionCall): Steps<Map<JsonValue, JsonValue[]>> {
  const [list, field] = [call.list(0), call.text(1)]
  const groups = new Map<JsonValue, JsonValue[]>()
  for (const value of list) {
    if (call.isDue) yield null
    if (!isJsonObject(value)) return call.refuse("an array of objects", value)
    const key = Object.hasOwn(value, field) ? (value[field] ?? null) : null
    if (key === null || typeof key === "object") {
      return call.fail(`the field ${field} is a string, a number or a boolean in each element, found ${describe(key)}`)
    }
    call.make(2)
    call.spend(typeof key === "string" ? perElement + perHashed * key.length : perElement)
    // Texts of one length could be compared each with each.
    if (typeof key === "string" && key.length >= longText) call.spend(key.length * groups.size)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [value])
    else group.push(value)
  }
  return groups
}

export function* groupBy(call: FunctionCall): Steps<JsonValue> {
  const made = new ArrayBuilder(call.scope)
  for (const [key, items] of yield* groupsOf(call)) {
    if (call.isDue) yield null
    call.make(3)
    made.add({ key, items })
  }
  return made.array
}

export function* countBy(call: FunctionCall): Steps<JsonValue> {
  const made = new ArrayBuilder(call.scope)
  for (const [key, { length: count }] of yield* groupsOf(call)) {
    if (call.isDue) yield null
    call.make(3)
    made.add({ key, count })
  }
  return made.array
}
