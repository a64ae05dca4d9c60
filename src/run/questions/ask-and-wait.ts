import { isoTime } from "../../base/iso-time.ts"
import { memoryOf } from "../../base/memory-of.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { Clock } from "../../ports/clock.ts"
import type { RandomSource } from "../../ports/random-source.ts"
import type { RunStore } from "../../ports/store.ts"
import type { AskedQuestion } from "../../log/events.ts"
import type { WaitOutcome } from "../../ports/waits.ts"
import { failure } from "../../ports/run-failure.ts"
import type { CapturedValues, ReplayData } from "../../log/replay-data.ts"
import type { EventLog } from "../log/log.ts"
import { SharedParts } from "../log/shared-parts.ts"
import type { QuestionOutcome, QuestionReplayState } from "../../log/replay-state.ts"
import type { Redactor } from "../secrets/redact.ts"
import { takeOutcomes } from "./take-outcomes.ts"
import { runOpenQuestions } from "../../base/limits.ts"

/** What a step asks; the rest of a question is the same for all. */
export interface NewQuestion extends Omit<AskedQuestion, "id" | "run_id" | "asked_at" | "expires_at" | "schema"> {
  readonly schema: JsonObject
  readonly expires_seconds: number
  readonly call_id?: string
  /** The agent that makes the call of an approval. */
  readonly agent?: string
  readonly dynamic?: string
}

export interface QuestionParts {
  readonly runId: string
  readonly store: RunStore
  readonly log: EventLog
  readonly redactor: Redactor
  readonly clock: Clock
  readonly random: RandomSource
  /** Aborts when the run stops. */
  readonly signal: AbortSignal
  fail(error: unknown): void
  /** Resolves when nothing of the run can go on by itself: all of it waits for people. */
  quiet(): Promise<void>
  /** Leaves the run to its questions. */
  park(questions: readonly string[]): void
}

interface Waiting {
  readonly question: QuestionReplayState
  /** Aborts when the run, or the called workflow that asks, stops. */
  readonly signal: AbortSignal
  readonly resolve: (outcome: QuestionOutcome) => void
  readonly reject: (reason: unknown) => void
}

/** The questions of a run under way: asks them, waits for their outcomes, and has the run leave when nothing else is left. */
export class Questions {
  readonly #parts: QuestionParts
  /** By id: open questions that a step waits for. */
  readonly #waiting = new Map<string, Waiting>()
  /** Signals that have a listener. */
  #signals: WeakSet<AbortSignal> | null = null
  #stopListening: (() => void) | null = null
  #watching = false
  #parking = false
  #looking: Promise<void> | null = null
  #lookAgain = false

  constructor(parts: QuestionParts) {
    this.#parts = parts
  }

  /** Refuses before anything is asked: a loop asks all of its questions, or none. */
  checkRoom(more: number, path: string): void {
    if (this.#waiting.size + more <= runOpenQuestions) return
    throw failure("limit_exceeded", path, `At most ${runOpenQuestions} questions of a run may be open at a time`)
  }

  /** Rejects where the log or the store has no room for these together. */
  async checkSize(questions: readonly NewQuestion[], captured: readonly CapturedValues[] = []): Promise<void> {
    const shared = new SharedParts()
    const fresh = questions.map((question, at) => shared.bytesOf(at, question))
    const sum = (sizes: readonly number[]): number => sizes.reduce((all, bytes) => all + bytes, 0)
    const kept = sum(captured.map(memoryOf))
    await this.#parts.log.checkRoom(sum(questions.map(memoryOf)) + kept, sum(fresh) + kept)
  }

  ask({ expires_seconds, ...asked }: NewQuestion, kept: ReplayData<"question_asked">): QuestionReplayState {
    const { runId, log, clock, random } = this.#parts
    const now = clock.now()
    const { call_id, agent, dynamic, ...rest } = asked
    const question: AskedQuestion = {
      id: random.id(),
      run_id: runId,
      ...rest,
      asked_at: isoTime(now),
      expires_at: isoTime(now + expires_seconds * 1000),
    }
    const calls = "call" in kept && "answer" in kept.call ? kept.call.answer?.calls : undefined
    log.add(
      "question_asked",
      {
        ...question,
        ...(call_id !== undefined && { call_id }),
        ...(agent !== undefined && { agent }),
        ...(dynamic !== undefined && { dynamic }),
        ...(calls !== undefined && { calls }),
      },
      kept,
    )
    return { asked: question, outcome: null }
  }

  /** What has become of a question, when it is known. Rejects when what asks it stops, so that nothing waits for a person in vain. */
  outcome(question: QuestionReplayState, signal: AbortSignal): Promise<QuestionOutcome> {
    if (question.outcome !== null) return Promise.resolve(question.outcome)
    if (signal.aborted) return Promise.reject(signal.reason as Error)
    return new Promise((resolve, reject) => {
      this.#waiting.set(question.asked.id, { question, signal, resolve, reject })
      this.#listen(signal)
      this.#watch()
    })
  }

  close(): void {
    this.#stopListening?.()
  }

  #listen(signal: AbortSignal): void {
    this.#signals ??= new WeakSet()
    if (!this.#signals.has(signal)) {
      this.#signals.add(signal)
      signal.addEventListener("abort", () => this.#drop(signal), { once: true })
    }
    if (this.#stopListening !== null) return
    const { store, runId } = this.#parts
    this.#stopListening = store.waits.onOutcome((run_id) => {
      if (run_id === runId) this.#look()
    })
    // Also what was stored before anybody listened.
    this.#look()
  }

  #drop(signal: AbortSignal): void {
    for (const [id, waiting] of this.#waiting) {
      if (waiting.signal !== signal) continue
      this.#waiting.delete(id)
      waiting.reject(signal.reason)
    }
  }

  #look(): void {
    this.#lookAgain = true
    this.#looking ??= this.#lookNow().finally(() => (this.#looking = null))
  }

  async #lookNow(): Promise<void> {
    const { store, runId, signal } = this.#parts
    while (this.#lookAgain) {
      this.#lookAgain = false
      try {
        const found = await store.waits.outcomes(runId)
        // The process that resumes the run takes them in.
        if (this.#parking || signal.aborted) return
        this.#take(found)
      } catch (error) {
        this.#parts.fail(error)
      }
    }
  }

  #take(stored: readonly WaitOutcome[]): void {
    const { log, redactor } = this.#parts
    for (const { asked, outcome } of takeOutcomes(
      log,
      redactor.redact,
      stored,
      (id) => this.#waiting.get(id)?.question,
    )) {
      const waiting = this.#waiting.get(asked.id)
      this.#waiting.delete(asked.id)
      if (outcome !== null) waiting?.resolve(outcome)
    }
  }

  #watch(): void {
    if (this.#watching) return
    this.#watching = true
    void this.#parkWhenQuiet().catch((error: unknown) => this.#parts.fail(error))
  }

  async #parkWhenQuiet(): Promise<void> {
    const { signal } = this.#parts
    while (this.#waiting.size > 0 && !signal.aborted) {
      await this.#parts.quiet()
      if (this.#looking !== null) {
        await this.#looking
        continue
      }
      if (this.#waiting.size === 0 || signal.aborted) break
      this.#parking = true
      this.#parts.park([...this.#waiting.keys()])
      return
    }
    this.#watching = false
  }
}
