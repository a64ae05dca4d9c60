import { objectOf } from "../../base/ordered-object.ts"
import type { JsonValue } from "../../base/json-value.ts"

export type TolerantResult =
  | { readonly outcome: "value"; readonly value: JsonValue; readonly end: number }
  /** The text ends within the value. */
  | { readonly outcome: "truncated" }
  | { readonly outcome: "malformed" }

/** Deeper than any contract; the recursion below has to end. */
const deepest = 500

class Truncated extends Error {}
class Malformed extends Error {}

/**
 * Reads one JSON value that begins at `start` and says where it ends. More tolerant than JSON in one point: a comma may
 * stand before a closing bracket. Only for texts that `JSON.parse` refused: it is slower.
 */
export function readTolerantJson(text: string, start: number): TolerantResult {
  const reader = new Reader(text, start)
  try {
    const value = reader.value(0)
    return { outcome: "value", value, end: reader.at }
  } catch (error) {
    if (error instanceof Truncated) return { outcome: "truncated" }
    if (error instanceof Malformed) return { outcome: "malformed" }
    throw error
  }
}

const blank = /\s*/y
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const escapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }
/** A scalar that may not be at its end yet: `tru`, `12`, `1.5e+`. */
const beginsScalar = /^(?:-?\d*(?:\.\d*)?(?:[eE][+-]?\d*)?|t|tr|tru|true|f|fa|fal|fals|false|n|nu|nul|null)$/

class Reader {
  readonly #text: string
  at: number

  constructor(text: string, at: number) {
    this.#text = text
    this.at = at
  }

  value(depth: number): JsonValue {
    if (depth > deepest) throw new Malformed()
    switch (this.#peek()) {
      case "{":
        return this.#object(depth)
      case "[":
        return this.#array(depth)
      case '"':
        return this.#string()
      default:
        return this.#scalar()
    }
  }

  #object(depth: number): JsonValue {
    const entries: [string, JsonValue][] = []
    this.at++
    while (this.#peek() !== "}") {
      if (this.#peek() !== '"') throw new Malformed()
      const key = this.#string()
      if (this.#peek() !== ":") throw new Malformed()
      this.at++
      entries.push([key, this.value(depth + 1)])
      this.#separator("}")
    }
    this.at++
    return objectOf(entries)
  }

  #array(depth: number): JsonValue {
    const items: JsonValue[] = []
    this.at++
    while (this.#peek() !== "]") {
      items.push(this.value(depth + 1))
      this.#separator("]")
    }
    this.at++
    return items
  }

  /** A comma, or the closing bracket, which stays. */
  #separator(closing: string): void {
    const next = this.#peek()
    if (next === ",") this.at++
    else if (next !== closing) throw new Malformed()
  }

  #string(): string {
    const start = this.at
    let end = start
    do {
      end = this.#text.indexOf('"', end + 1)
      if (end < 0) throw new Truncated()
    } while (this.#isEscaped(end))
    this.at = end + 1
    const token = this.#text.slice(start, this.at)
    try {
      // Line breaks and tabs that should have been escaped are what models forget most.
      return JSON.parse(token.replace(/[\n\r\t]/g, (raw) => escapes[raw] ?? raw)) as string
    } catch {
      throw new Malformed()
    }
  }

  /** Whether an odd number of backslashes stands before it. */
  #isEscaped(at: number): boolean {
    let backslashes = 0
    while (this.#text[at - 1 - backslashes] === "\\") backslashes++
    return backslashes % 2 === 1
  }

  #scalar(): JsonValue {
    const left = this.#text.length - this.at
    if (left < 400 && beginsScalar.test(this.#text.slice(this.at))) throw new Truncated()
    scalar.lastIndex = this.at
    const token = scalar.exec(this.#text)?.[0]
    if (token === undefined) throw new Malformed()
    this.at += token.length
    return JSON.parse(token) as JsonValue
  }

  /** The next character that is not a blank. */
  #peek(): string {
    blank.lastIndex = this.at
    this.at += blank.exec(this.#text)?.[0].length ?? 0
    const next = this.#text[this.at]
    if (next === undefined) throw new Truncated()
    return next
  }
}
