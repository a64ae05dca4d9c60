import { Buffer } from "node:buffer"
import type { JsonValue } from "../../base/json-value.ts"

/** A value as JSON: bytes of its text in UTF-8, and how many arrays and objects are inside of each other. */
export interface ValueSize {
  readonly bytes: number
  readonly depth: number
  /** Values in it, itself included; shared ones as often as they occur in the text. */
  readonly elements: number
  /** Values that had to be looked at to find this out. */
  readonly visits: number
}

/**
 * Sizes of arrays and objects that were measured before. Evaluated values share parts (`[dynamic.a, dynamic.a]`), so the
 * text of a value can be exponentially larger than the value: with this each shared part is measured once. Small ones are
 * measured again, which is cheaper than to remember them.
 */
const known = new WeakMap<object, Omit<ValueSize, "visits">>()
const remembered = 256

/** Bytes of a text as JSON, exact up to `enough`. */
export type TextBytes = (text: string, enough: number) => number

/** The size of a value, exact up to `enough` bytes; over that, any number over `enough`. */
export function sizeOf(
  value: JsonValue,
  enough = Number.POSITIVE_INFINITY,
  textBytes: TextBytes = stringBytes,
): ValueSize {
  if (typeof value !== "object" || value === null) {
    const bytes = typeof value === "string" ? textBytes(value, enough) : scalarBytes(value)
    return { bytes, depth: 0, elements: 1, visits: 1 }
  }
  const measure = new Measure(enough, textBytes)
  const depth = measure.add(value, 0)
  return { bytes: measure.bytes, depth, elements: measure.elements, visits: measure.visits }
}

/** The bytes of a value's JSON text where they are over a limit, else null. */
export function bytesOver(value: JsonValue, limit: number): number | null {
  const { bytes } = sizeOf(value)
  return bytes > limit ? bytes : null
}

/** Beyond this depth nothing is measured: the depth alone is a reason to refuse the value. */
const deepest = 1000

class Measure {
  readonly #enough: number
  readonly #textBytes: TextBytes
  bytes = 0
  elements = 0
  visits = 0

  constructor(enough: number, textBytes: TextBytes) {
    this.#enough = enough
    this.#textBytes = textBytes
  }

  /** Adds the bytes of a value; returns its depth. */
  add(value: JsonValue, level: number): number {
    this.visits++
    this.elements++
    if (typeof value === "string") {
      this.bytes += this.#textBytes(value, this.#enough - this.bytes)
      return 0
    }
    if (typeof value !== "object" || value === null) {
      this.bytes += scalarBytes(value)
      return 0
    }
    const before = known.get(value)
    if (before !== undefined) {
      this.bytes += before.bytes
      this.elements += before.elements - 1
      return before.depth
    }
    if (level > deepest) return 1
    const start = this.bytes
    const first = this.elements - 1
    const depth = 1 + (Array.isArray(value) ? this.#items(value, level + 1) : this.#fields(value, level + 1))
    const bytes = this.bytes - start
    if (bytes >= remembered && this.bytes <= this.#enough && depth + level <= deepest)
      known.set(value, { bytes, depth, elements: this.elements - first })
    return depth
  }

  #items(items: readonly JsonValue[], level: number): number {
    let depth = 0
    this.bytes += 1 + Math.max(1, items.length)
    // By position: an iterator takes three times as long.
    for (let at = 0; at < items.length; at++) {
      if (this.bytes > this.#enough) break
      const inner = this.add(items[at] ?? null, level)
      if (inner > depth) depth = inner
    }
    return depth
  }

  #fields(fields: { readonly [key: string]: JsonValue }, level: number): number {
    let depth = 0
    const keys = Object.keys(fields)
    this.bytes += 1 + Math.max(1, keys.length)
    for (const key of keys) {
      if (this.bytes > this.#enough) break
      this.bytes += stringBytes(key, this.#enough - this.bytes) + 1
      depth = Math.max(depth, this.add(fields[key] ?? null, level))
    }
    return depth
  }
}

export function scalarBytes(value: number | boolean | null): number {
  if (typeof value !== "number") return value === false ? 5 : 4
  if (Number.isInteger(value) && value > -smallInteger && value < smallInteger) return integerBytes(value)
  return Number.isFinite(value) ? String(value).length : 4
}

/** Digits of smaller ones are counted, which takes a fraction of the time of writing them. */
const smallInteger = 1e9

function integerBytes(value: number): number {
  let bytes = value < 0 ? 2 : 1
  for (let least = 10; least <= Math.abs(value); least *= 10) bytes++
  return bytes
}

/** Exact unless over `enough`. */
export function stringBytes(text: string, enough: number): number {
  const least = text.length + 2
  if (least > enough || (text.length < chunk && !/[^ !#-[\]-~]/.test(text))) return least
  let bytes = 2
  for (let from = 0; from < text.length; from += chunk) {
    const count = scratch.write(text.slice(from, from + chunk), "utf16le") / 2
    for (let at = 0; at < count; at++) bytes += unitBytes[units[at] ?? 0] ?? 0
  }
  return text.isWellFormed() ? bytes : bytes + loneSurrogates(text) * (escapedSurrogate - halfOfPair)
}

/** A surrogate without its other half is written as an escape: `\ud83d`. */
const escapedSurrogate = 6
const halfOfPair = 2

/** Bytes in JSON of every UTF-16 unit. Adding them up takes a tenth of the time of writing the JSON text. */
const unitBytes = new Uint8Array(0x10000).fill(3).fill(2, 0x80, 0x800).fill(1, 0x20, 0x80).fill(6, 0, 0x20)
for (const escaped of '"\\\b\t\n\f\r') unitBytes[escaped.charCodeAt(0)] = 2
unitBytes.fill(halfOfPair, 0xd800, 0xe000)

const chunk = 16 * 1024
const scratch = Buffer.alloc(2 * chunk)
const units = new Uint16Array(scratch.buffer, scratch.byteOffset, chunk)

function loneSurrogates(text: string): number {
  let count = 0
  let afterHigh = false
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    const isLow = unit >= 0xdc00 && unit < 0xe000
    if (isLow) count += afterHigh ? -1 : 1
    afterHigh = unit >= 0xd800 && unit < 0xdc00
    if (afterHigh) count++
  }
  return count
}
