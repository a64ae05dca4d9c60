import type { JsonValue } from "../../../base/json-value.ts"
import type { Steps } from "../steps.ts"
import type { Scope } from "../scope.ts"
import { stringBytes } from "../value-size.ts"

/** Bytes that are written in one step. */
const perStep = 128 * 1024
/** Numbers and brackets take longer than characters. */
const perElement = 32

/** Whether a value takes more than one step to write. */
export function isLongJson(value: JsonValue, { work, path }: Scope): boolean {
  return work.sizeOf(value, perStep, path).bytes > perStep
}

/** A text, and the bytes that it has as a part of another value. */
export interface WrittenText {
  readonly text: string
  readonly bytes: number
}

/** Compact JSON, written in steps. The value was measured before. */
export function* jsonSteps(value: JsonValue, scope: Scope): Steps<WrittenText> {
  const writer = new Writer(scope)
  yield* writer.write(value)
  const { text, bytes } = writer
  scope.work.remember(text, bytes)
  return { text, bytes }
}

class Writer {
  readonly #scope: Scope
  text = ""
  /** Bytes of the text as JSON: quotes and backslashes are written again where it stands in another value. */
  bytes = 2

  constructor(scope: Scope) {
    this.#scope = scope
  }

  *write(value: JsonValue): Steps<void> {
    if (typeof value === "string") yield* this.#string(value)
    else if (typeof value !== "object" || value === null) this.#piece(JSON.stringify(value), 1)
    else if (Array.isArray(value)) yield* this.#array(value)
    else yield* this.#object(value)
  }

  *#string(value: string): Steps<void> {
    this.#piece('"', 1)
    for (let from = 0; from < value.length;) {
      let to = Math.min(from + perStep, value.length)
      // The halves of a surrogate pair stay together: alone they are written as escapes.
      while (to < value.length && isHigh(value.charCodeAt(to - 1))) to++
      this.#piece(JSON.stringify(value.slice(from, to)).slice(1, -1), 0)
      from = to
      if (from < value.length) yield null
    }
    this.#piece('"', 0)
  }

  *#array(items: readonly JsonValue[]): Steps<void> {
    const { work, path } = this.#scope
    this.#piece("[", 1)
    // Small elements are written together.
    let few: JsonValue[] = []
    let bytes = 0
    let elements = 0
    for (const [at, item] of items.entries()) {
      const size = work.sizeOf(item, perStep, path)
      const isLong = size.bytes > perStep
      if (!isLong) {
        few.push(item)
        bytes += size.bytes
        elements += size.elements
      }
      const isLast = at + 1 === items.length
      if (few.length > 0 && (isLong || isLast || bytes > perStep)) {
        this.#piece(JSON.stringify(few).slice(1, -1), elements)
        if (isLong || !isLast) this.#piece(",", 0)
        few = []
        bytes = elements = 0
        if (!isLast) yield null
      }
      if (!isLong) continue
      yield* this.write(item)
      if (!isLast) this.#piece(",", 0)
    }
    this.#piece("]", 0)
  }

  *#object(value: Readonly<Record<string, JsonValue>>): Steps<void> {
    const { work, path } = this.#scope
    let before = "{"
    let bytes = 0
    for (const [key, item] of Object.entries(value)) {
      const { bytes: more, elements } = work.sizeOf(item, perStep, path)
      this.#piece(`${before}${JSON.stringify(key)}:`, 1)
      before = ","
      bytes += key.length + more
      if (more > perStep) yield* this.write(item)
      else this.#piece(JSON.stringify(item), elements)
      if (bytes < perStep) continue
      bytes = 0
      yield null
    }
    this.#piece(before === "{" ? "{}" : "}", 0)
  }

  #piece(text: string, elements: number): void {
    const { work, path } = this.#scope
    work.text(text.length, path)
    work.spend(text.length + elements * perElement, path)
    this.text += text
    this.bytes += stringBytes(text, Number.POSITIVE_INFINITY) - 2
    work.checkSize(this.bytes, path)
  }
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}
