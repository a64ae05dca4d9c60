import { isoTime } from "../../base/iso-time.ts"
import { memoryOf } from "../../base/memory-of.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { Clock } from "../../ports/clock.ts"
import type { RandomSource } from "../../ports/random-source.ts"
import type { AskedQuestion } from "../../log/events.ts"
import { failure } from "../../ports/run-failure.ts"
import type { CapturedValues, ReplayData } from "../../log/replay-data.ts"
import type { EventLog } from "../log/log.ts"
import { SharedParts } from "../log/shared-parts.ts"
import type { QuestionOutcome, QuestionReplayState } from "../../log/replay-state.ts"
import type { OpenWaits } from "../waiting/open-waits.ts"
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
  readonly log: EventLog
  readonly clock: Clock
  readonly random: RandomSource
  readonly waits: OpenWaits
}

/** The questions of a run under way: asks them, and waits for their outcomes. */
export class Questions {
  readonly #parts: QuestionParts

  constructor(parts: QuestionParts) {
    this.#parts = parts
  }

  /** Refuses before anything is asked: a loop asks all of its questions, or none. */
  checkRoom(more: number, path: string): void {
    if (this.#parts.waits.open("asked") + more <= runOpenQuestions) return
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
  async outcome(question: QuestionReplayState, signal: AbortSignal): Promise<QuestionOutcome> {
    if (question.outcome === null) await this.#parts.waits.settled(question, signal)
    if (question.outcome === null) throw new Error("A question was settled without an outcome")
    return question.outcome
  }
}
