import type { JsonValue } from "../../base/json-value.ts"
import { RunEnding, failure, wireError } from "../../ports/run-failure.ts"
import { loopTurns } from "../../event-loop/loop-turns.ts"
import type { RunMemory } from "../shares/memory-share.ts"
import { scalarBytes, sizeOf, stringBytes, type ValueSize } from "./value-size.ts"
import { runValueBytes, runValueLevels, runWork, runWorkPerByte } from "../../base/limits.ts"

/** Memory of all values that a run keeps at a time, unless the operator allows more. */
export const defaultMaxKept = 128 * 1024 * 1024

// Work is counted in characters that are copied or compared. Slower work counts as the number of characters that take the same time.

/** An element that is made or looked at, and how much of that is memory. */
const perElement = 64
const memoryOfElement = 8

/** An element that is only measured, and how much of that counts as memory: no JSON text has more elements than half its bytes. */
const perVisit = 8
const memoryOfVisit = 2

/** An element that is written as text: numbers and brackets take longer than characters. */
const perWritten = 32

/** What an expression counts for the event loop, however little it makes: events are logged and others started with it. */
const perExpression = 2048

/** What a run may do before its first turn of the event loop: many runs may begin in the same one. */
const firstTurn = 128 * perExpression

/** Texts of this length and more are measured once: expressions use the same ones again and again. */
const longText = 4096
/** Characters of all texts that are remembered, and how many texts. */
const rememberedText = 4 * 1024 * 1024
const rememberedTexts = 64
/** Comparing this many characters with a remembered text counts 1. */
const comparedPerWork = 64

/** What was begun without a rest has to be evaluated in steps, with the event loop's turns between them. */
export class TakesLong extends Error {}

/**
 * What a run's expressions cost. Every value is measured when it is made, and one over a limit is refused before it is
 * made: values share their parts, so that a few lines can describe one that no machine could write out.
 */
export class EvaluationWork {
  /** Bytes of JSON of the largest value. */
  readonly largest: number
  /** Work of one expression: bytes of text that it makes, and some for every element that it makes, looks at or writes. */
  readonly #most: number
  /** Memory of all values that are kept at a time: of `dynamic` blocks, outputs of agents, conversations. */
  readonly #maxKept: number
  /** After so much work the event loop gets a turn. */
  readonly #perTurn: number
  /** Work of all expressions that the run may do. */
  #allowed = runWork
  /** Bytes of the run's input. They are counted when the rest is used up, because most runs never need them. */
  #inputBytes: (() => number) | null
  #worked = 0
  #spent = 0
  #made = 0
  #sinceTurn: number
  #kept = 0
  /**
   * Bytes of long texts by the length of the text, the oldest first. One text of each length: V8's hash of a long text is its
   * length, so that in a map by texts each look-up would compare all texts of one length.
   */
  readonly #texts = new Map<number, { readonly text: string; readonly bytes: number }>()
  #textLength = 0
  #together = false
  /** Expressions that wait for the event loop's turn, the first first. */
  readonly #waiting: (() => void)[] = []
  #isTurnDue = false
  #takesTurns = false

  /** Counts the same with that of the other runs. */
  readonly #memory: RunMemory | null

  constructor(
    largest = runValueBytes,
    maxKept = defaultMaxKept,
    inputBytes: (() => number) | null = null,
    memory: RunMemory | null = null,
  ) {
    this.largest = largest
    this.#memory = memory
    this.#most = 12 * largest
    this.#maxKept = maxKept
    this.#perTurn = runValueBytes / 4
    this.#sinceTurn = this.#perTurn - firstTurn
    this.#inputBytes = inputBytes
  }

  /** Starts to count for another expression. */
  begin(): void {
    if (!this.#together) this.#restart()
    this.#sinceTurn += perExpression
  }

  /** Expressions that are evaluated one after the other without a rest have the work of one. */
  together<T>(evaluateAll: () => T): T {
    this.#restart()
    this.#together = true
    try {
      return evaluateAll()
    } finally {
      this.#together = false
    }
  }

  #restart(): void {
    this.#spent = 0
    this.#made = 0
  }

  /** An agent or a call begins: its expressions may work with two of the largest values. */
  called(): void {
    this.#allowed += 2 * this.largest
  }

  /** Counts bytes that came in from outside, which expressions may work with. */
  received(bytes: number): void {
    this.#allowed += bytes * runWorkPerByte
  }

  /** Counts elements that are made or looked at. */
  elements(count: number, path: string): void {
    this.text(count * memoryOfElement, path)
    this.spend(count * (perElement - memoryOfElement), path)
  }

  /** Counts characters of a text that is made. */
  text(length: number, path: string): void {
    this.#made += length
    this.spend(length, path)
  }

  /** Counts work that makes nothing. */
  spend(amount: number, path: string): void {
    this.#spent += amount
    this.#worked += amount
    this.#sinceTurn += amount
    if (this.#spent > this.#most) {
      const message = `${path} takes more work than one expression may (${this.#most}): make it simpler, or its values smaller`
      throw failure("limit_exceeded", path, message)
    }
    if (this.#worked > this.#allowed && !this.#mayGoOn()) {
      const message = `The run's expressions take more work than they may (${this.#allowed}, at ${path}): make fewer of them, or their values smaller`
      throw failure("limit_exceeded", path, message)
    }
  }

  #mayGoOn(): boolean {
    if (this.#inputBytes === null) return false
    this.received(this.#inputBytes())
    this.#inputBytes = null
    return this.#worked <= this.#allowed
  }

  /** Bytes of a part of a value that is being made; throws when the whole would be too large or too deep. */
  part(value: JsonValue, before: number, path: string): number {
    if (typeof value === "object" && value !== null) return this.#measure(value, before, path).bytes
    const bytes = typeof value === "string" ? this.#bytesOf(value, this.largest - before, path) : scalarBytes(value)
    this.#visited(1, path)
    this.checkSize(before + bytes, path)
    return bytes
  }

  /** The same for a value that is written as text. */
  written(value: JsonValue, before: number, path: string): number {
    const { bytes, elements } = this.#measure(value, before, path)
    this.spend(bytes + elements * perWritten, path)
    return bytes
  }

  /** Bytes of a value that is there; any number over `enough` where there are more. */
  sizeOf(value: JsonValue, enough: number, path: string): ValueSize {
    return sizeOf(value, enough, (text, left) => this.#bytesOf(text, left, path))
  }

  #measure(value: JsonValue, before: number, path: string): ValueSize {
    const size = this.sizeOf(value, this.largest - before, path)
    const { bytes, depth, visits } = size
    this.#visited(visits, path)
    this.checkSize(before + bytes, path)
    if (depth >= runValueLevels) {
      throw failure("limit_exceeded", path, `${path} is nested deeper than ${runValueLevels} levels`)
    }
    return size
  }

  #visited(count: number, path: string): void {
    this.text(count * memoryOfVisit, path)
    this.spend(count * (perVisit - memoryOfVisit), path)
  }

  /** Throws when a value is too large. */
  checkSize(bytes: number, path: string): void {
    if (bytes <= this.largest) return
    // A value over its limit is over the output's limit, too.
    const message = `${path} is larger than ${this.largest} bytes of JSON`
    if (!path.startsWith("output.")) throw failure("limit_exceeded", path, message)
    throw failure("payload_too_large", path, `${message}, which no setting raises`)
  }

  #bytesOf(text: string, enough: number, path: string): number {
    if (text.length < longText) return stringBytes(text, enough)
    this.spend(Math.ceil(text.length / comparedPerWork), path)
    const known = this.#texts.get(text.length)
    if (known?.text === text) return known.bytes
    const bytes = stringBytes(text, enough)
    this.spend(text.length, path)
    // One that is over what is enough was not measured to its end.
    if (bytes <= enough) this.remember(text, bytes)
    return bytes
  }

  /** The bytes of a text as JSON are known from its pieces: it need not be measured. */
  remember(text: string, bytes: number): void {
    if (text.length < longText || text.length > rememberedText) return
    this.#forget(text.length)
    this.#texts.set(text.length, { text, bytes })
    this.#textLength += text.length
    for (const [oldest] of this.#texts) {
      if (this.#textLength <= rememberedText && this.#texts.size <= rememberedTexts) break
      this.#forget(oldest)
    }
  }

  #forget(length: number): void {
    if (this.#texts.delete(length)) this.#textLength -= length
  }

  /** Bytes that were made since `begin`: no value that was made since then takes more memory. */
  get made(): number {
    return this.#made
  }

  /** Counts memory of a value that is kept for as long as the run, or an agent of it, lasts. */
  keep(amount: number, path: string): void {
    this.#kept += amount
    if (this.#kept > this.#maxKept) {
      const message = `The values that the run keeps take more than ${this.#maxKept} bytes of memory together (WIRE_MAX_RUN_MEMORY)`
      throw new RunEnding(wireError("limit_exceeded", [{ path, message }]))
    }
    this.share(amount, path)
  }

  /** Counts memory among that of all runs, but not as kept by this one: it is needed for a moment, or was there before the run. */
  share(amount: number, path: string): void {
    if (this.#memory === null || this.#memory.add(amount)) return
    const message =
      "Running workflows use all of the memory that is allowed: run fewer at a time, or use smaller values"
    throw new RunEnding(wireError("limit_exceeded", [{ path, message }]))
  }

  /** What was counted by `share` is not needed any more. */
  unshare(amount: number): void {
    this.#memory?.remove(amount)
  }

  /** Kept values are not needed any more. */
  forget(kept: number): void {
    this.#kept -= kept
    this.unshare(kept)
  }

  /** An expression waits for the event loop's turn. */
  get isResting(): boolean {
    return this.#waiting.length > 0
  }

  /** So much was done that others should have their turn, and whoever evaluates can wait. */
  get isDue(): boolean {
    return this.#takesTurns && this.#isUsedUp
  }

  get #isUsedUp(): boolean {
    return this.#sinceTurn >= this.#perTurn
  }

  /**
   * Evaluates something: at once, or where the event loop is due for a turn, after it and after those that wait already. Whatever waits is
   * evaluated when its turn comes and not a moment later, so that each counts for the next.
   */
  inTurn<T>(evaluate: () => T | Promise<T>): T | Promise<T> {
    if (!this.#isUsedUp && !this.isResting) return this.#takingTurns(evaluate)
    return new Promise((resolve) => {
      // What it throws is the promise's.
      this.#waiting.push(() => resolve(new Promise((settle) => settle(this.#takingTurns(evaluate)))))
      this.#awaitTurn()
    })
  }

  /** Whoever evaluates now can wait: what takes long is refused with `TakesLong`, to be evaluated in steps. */
  get takesTurns(): boolean {
    return this.#takesTurns
  }

  #takingTurns<T>(evaluate: () => T): T {
    const before = this.#takesTurns
    this.#takesTurns = true
    try {
      return evaluate()
    } finally {
      this.#takesTurns = before
    }
  }

  #awaitTurn(): void {
    if (this.#isTurnDue) return
    this.#isTurnDue = true
    void loopTurns.spend(this.#perTurn).then(() => {
      this.#sinceTurn = 0
      while (!this.#isUsedUp && this.isResting) this.#waiting.shift()?.()
      this.#isTurnDue = false
      if (this.isResting) this.#awaitTurn()
    })
  }
}
