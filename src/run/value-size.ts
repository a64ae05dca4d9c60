import { Buffer } from "node:buffer"
import type { JsonValue } from "../base/json-value.ts"

/** A value as JSON: bytes of its text in UTF-8, and how many arrays and objects are inside of each other. */
export interface ValueSize {
  readonly bytes: number
  readonly depth: number
  /** Values that had to be looked at to find this out. */
  readonly visits: number
}

/**
 * Sizes of arrays and objects that were measured before. Evaluated values share parts (`[dynamic.a, dynamic.a]`), so the
 * text of a value can be exponentially larger than the value: with this each shared part is measured once. Small ones are
 * measured again, which is cheaper than to remember them.
 */
const known = new WeakMap<object, { readonly bytes: number; readonly depth: number }>()
const remembered = 1024

/** Bytes of a text as JSON, exact up to `enough`. */
export type TextBytes = (text: string, enough: number) => number

/** The size of a value, exact up to `enough` bytes; over that, any number over `enough`. */
export function sizeOf(
  value: JsonValue,
  enough = Number.POSITIVE_INFINITY,
  textBytes: TextBytes = stringBytes,
): ValueSize {
  if (typeof value !== "object" || value === null) {
    return { bytes: typeof value === "string" ? textBytes(value, enough) : scalarBytes(value), depth: 0, visits: 1 }
  }
  const measure = new Measure(enough, textBytes)
  const depth = measure.add(value, 0)
  return { bytes: measure.bytes, depth, visits: measure.visits }
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
  visits = 0

  constructor(enough: number, textBytes: TextBytes) {
    this.#enough = enough
    this.#textBytes = textBytes
  }

  /** Adds the bytes of a value; returns its depth. */
  add(value: JsonValue, level: number): number {
    this.visits++
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
      return before.depth
    }
    if (level > deepest) return 1
    const start = this.bytes
    const depth = 1 + (Array.isArray(value) ? this.#items(value, level + 1) : this.#fields(value, level + 1))
    const bytes = this.bytes - start
    if (bytes >= remembered && this.bytes <= this.#enough && depth + level <= deepest)
      known.set(value, { bytes, depth })
    return depth
  }

  #items(items: readonly JsonValue[], level: number): number {
    let depth = 0
    this.bytes += 1 + Math.max(1, items.length)
    for (const item of items) {
      if (this.bytes > this.#enough) break
      depth = Math.max(depth, this.add(item, level))
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

function scalarBytes(value: number | boolean | null): number {
  if (typeof value === "number") return Number.isFinite(value) ? String(value).length : 4
  return value === false ? 5 : 4
}

/** Exact unless over `enough`. */
export function stringBytes(text: string, enough: number): number {
  const least = text.length + 2
  // Not longer than its characters: nothing in it is escaped or takes more than one byte.
  if (least > enough || !/[^ !#-[\]-~]/.test(text)) return least
  return Buffer.byteLength(JSON.stringify(text), "utf8")
}
