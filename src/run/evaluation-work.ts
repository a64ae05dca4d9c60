import type { JsonValue } from "../base/json-value.ts"
import { deepestValue } from "../types/value-fits.ts"
import { RunEnding } from "../ports/run-failure.ts"
import { failure, wireError } from "./failure.ts"
import { sizeOf, stringBytes } from "./value-size.ts"

/** Bytes of JSON of the largest value that an expression may make, unless the operator allows larger requests. */
export const usualLargestValue = 16 * 1024 * 1024

/** Memory of all values that a run keeps at a time, unless the operator allows more. */
export const usualMostKept = 128 * 1024 * 1024

/** What an element that is made or looked at counts, in bytes. */
const perElement = 8

/** What an expression counts for the event loop, however little it makes: events are logged and others started with it. */
const perExpression = 2048

/** What an element counts that is only measured. No JSON text has more elements than half its bytes. */
const perVisit = 2

/** Texts of this length and more are measured once: expressions use the same ones again and again. */
const longText = 4096
/** Characters of all texts that are remembered. */
const rememberedText = 4 * 1024 * 1024

/**
 * What a run's expressions cost. Every value is measured when it is made, and one over a limit is refused before it is
 * made: values share their parts, so that a few lines can describe one that no machine could write out.
 */
export class EvaluationWork {
  /** Bytes of JSON of the largest value. */
  readonly largest: number
  /** Work of one expression: bytes of text that it makes, and some for every element that it makes or looks at. */
  readonly #most: number
  /** Memory of all values that are kept at a time: of `dynamic` blocks, outputs of agents, conversations. */
  readonly #mostKept: number
  /** After so much work the event loop gets a turn. */
  readonly #perTurn: number
  #spent = 0
  #sinceTurn = 0
  #kept = 0
  /** Bytes of long texts, the oldest first. */
  readonly #texts = new Map<string, number>()
  #textLength = 0
  #together = false
  #resting: Promise<void> | null = null

  constructor(largest = usualLargestValue, mostKept = usualMostKept) {
    this.largest = largest
    this.#most = 3 * largest
    this.#mostKept = mostKept
    this.#perTurn = usualLargestValue / 4
  }

  /** Starts to count for another expression. */
  begin(): void {
    if (!this.#together) this.#spent = 0
    this.#sinceTurn += perExpression
  }

  /** Expressions that are evaluated one after the other without a rest have the work of one. */
  together<T>(evaluateAll: () => T): T {
    this.#spent = 0
    this.#together = true
    try {
      return evaluateAll()
    } finally {
      this.#together = false
    }
  }

  /** Counts elements that are made or looked at. */
  elements(count: number, path: string): void {
    this.text(count * perElement, path)
  }

  /** Counts characters of a text. */
  text(length: number, path: string): void {
    this.#spent += length
    this.#sinceTurn += length
    if (this.#spent > this.#most) {
      throw failure(
        "limit_exceeded",
        path,
        `${path} takes more work than one expression may: make it simpler, or its values smaller`,
      )
    }
  }

  /** Bytes of a part of a value that is being made; throws when the whole would be too large or too deep. */
  part(value: JsonValue, before: number, path: string): number {
    const { bytes, depth, visits } = sizeOf(value, this.largest - before, (text, enough) => this.#bytesOf(text, enough))
    this.text(visits * perVisit, path)
    if (before + bytes > this.largest) {
      // What is larger than a value may be is larger than the output may be, too.
      const kind = path.startsWith("output.") ? "payload_too_large" : "limit_exceeded"
      throw failure(kind, path, `${path} is larger than ${this.largest} bytes of JSON`)
    }
    if (depth >= deepestValue) {
      throw failure("limit_exceeded", path, `${path} is nested deeper than ${deepestValue} levels`)
    }
    return bytes
  }

  #bytesOf(text: string, enough: number): number {
    if (text.length < longText) return stringBytes(text, enough)
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    const bytes = stringBytes(text, enough)
    // One that is over what is enough was not measured to its end.
    if (bytes <= enough && text.length <= rememberedText) this.#remember(text, bytes)
    return bytes
  }

  #remember(text: string, bytes: number): void {
    this.#texts.set(text, bytes)
    this.#textLength += text.length
    for (const [oldest] of this.#texts) {
      if (this.#textLength <= rememberedText) break
      this.#texts.delete(oldest)
      this.#textLength -= oldest.length
    }
  }

  /** Work since `begin`: no value that was made since then takes more memory. */
  get spent(): number {
    return this.#spent
  }

  /** Counts memory of a value that is kept for as long as the run, or an agent of it, lasts. */
  keep(amount: number, path: string): void {
    this.#kept += amount
    if (this.#kept <= this.#mostKept) return
    const message = `The values that the run keeps take more than ${this.#mostKept} bytes of memory together (WIRE_MAX_RUN_MEMORY)`
    throw new RunEnding(wireError("limit_exceeded", [{ path, message }]))
  }

  /** Kept values are not needed any more. */
  forget(kept: number): void {
    this.#kept -= kept
  }

  /** An expression waits for the event loop's turn. */
  get isResting(): boolean {
    return this.#resting !== null
  }

  /** Null, or a promise to wait for before more is evaluated: the event loop is due for a turn. */
  rest(): Promise<void> | null {
    if (this.#sinceTurn < this.#perTurn) return null
    this.#resting ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#resting = null
        this.#sinceTurn = 0
        resolve()
      })
    })
    return this.#resting
  }
}
