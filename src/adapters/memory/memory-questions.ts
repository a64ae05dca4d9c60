import { isoTime } from "../../base/iso-time.ts"
import { memoryOf } from "../../base/memory-of.ts"
import type { LogEvent, Question } from "../../log/events.ts"
import type { Clock } from "../../ports/clock.ts"
import {
  askedQuestion,
  cutPage,
  isFor,
  questionsIn,
  type AnswerOutcome,
  type GivenAnswer,
  type InboxQuery,
  type QuestionPage,
  type StoredOutcome,
} from "../../ports/questions.ts"

interface Stored {
  readonly number: number
  readonly caller: string
  readonly expires_at: number
  /** Replaced once, by the outcome. */
  question: Question
  /** The log shows the outcome. */
  taken: boolean
}

/** The questions of a `MemoryStore`, in the order in which they were asked. */
export class MemoryQuestions {
  readonly #clock: Clock
  readonly #stored: Stored[] = []
  readonly #byRun = new Map<string, Stored[]>()
  #asked = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  appended(run_id: string, caller: string, events: readonly LogEvent[]): void {
    const { asked, taken } = questionsIn(events)
    if (asked.length === 0 && taken.length === 0) return
    const ofRun = this.#byRun.get(run_id) ?? []
    this.#byRun.set(run_id, ofRun)
    for (const event of asked) {
      const question: Question = { ...askedQuestion(event), status: "open" }
      const expires_at = Date.parse(question.expires_at)
      const stored = { number: ++this.#asked, caller, expires_at, question, taken: false }
      this.#stored.push(stored)
      ofRun.push(stored)
    }
    const takenIn = new Set(taken)
    for (const stored of ofRun) if (takenIn.has(stored.question.id)) stored.taken = true
  }

  ofRun(run_id: string, limit: number, after: string | null): QuestionPage {
    return this.#page(this.#byRun.get(run_id) ?? [], limit, after)
  }

  one(run_id: string, id: string): Question | null {
    const stored = this.#byRun.get(run_id)?.find(({ question }) => question.id === id)
    return stored === undefined ? null : this.#seen(stored)
  }

  /** The open ones: how many, and when the oldest was asked. */
  open(): { readonly questions: number; readonly oldest_asked_at: number | null } {
    const open = this.#stored.filter(({ question }) => question.status === "open")
    const [oldest] = open
    return {
      questions: open.length,
      oldest_asked_at: oldest === undefined ? null : Date.parse(oldest.question.asked_at),
    }
  }

  outcomes(run_id: string): StoredOutcome[] {
    return (this.#byRun.get(run_id) ?? []).flatMap(({ question, taken }) => {
      const { id, status, answer, answered_by } = question
      if (status === "open" || taken) return []
      return [answer === undefined || answered_by === undefined ? { id, status } : { id, status, answer, answered_by }]
    })
  }

  inbox(query: InboxQuery): QuestionPage {
    const { status, limit, after } = query
    const found = this.#stored.filter((stored) => {
      return isFor(query, stored.caller, stored.question.to) && this.#seen(stored).status === status
    })
    return this.#page(found, limit, after)
  }

  #page(questions: readonly Stored[], limit: number, after: string | null): QuestionPage {
    const from = after === null ? 0 : Number(after)
    const { fitting, more } = cutPage(
      Number.isSafeInteger(from) ? questions.filter(({ number }) => number > from) : [],
      limit,
      ({ question }) => memoryOf(question),
    )
    const found = fitting.map((stored) => ({ question: this.#seen(stored), position: String(stored.number) }))
    return { found, next: more ? (found.at(-1)?.position ?? null) : null }
  }

  /** `settled`: the question got its outcome by this: the answer, or the expiry. */
  answer(run_id: string, id: string, given: GivenAnswer): (AnswerOutcome & { readonly settled: boolean }) | null {
    const stored = this.#byRun.get(run_id)?.find(({ question }) => question.id === id)
    if (stored === undefined) return null
    if (stored.question.status !== "open") return { stored: false, settled: false, question: stored.question }
    const now = this.#clock.now()
    if (stored.expires_at <= now) {
      stored.question = { ...stored.question, status: "expired" }
      return { stored: false, settled: true, question: stored.question }
    }
    stored.question = { ...stored.question, ...given, status: "answered", answered_at: isoTime(now) }
    return { stored: true, settled: true, question: stored.question }
  }

  /** The runs of the questions that have expired by now. */
  expire(): string[] {
    const now = this.#clock.now()
    const due = this.#stored.filter(({ question, expires_at }) => question.status === "open" && expires_at <= now)
    for (const stored of due) stored.question = { ...stored.question, status: "expired" }
    return due.map(({ question }) => question.run_id)
  }

  /** The run has ended: what is open expired before, or is withdrawn. */
  withdraw(run_id: string, now: number): void {
    for (const stored of this.#byRun.get(run_id) ?? []) {
      stored.taken = true
      if (stored.question.status !== "open") continue
      stored.question = { ...stored.question, status: stored.expires_at <= now ? "expired" : "withdrawn" }
    }
  }

  forget(run_id: string): void {
    if (!this.#byRun.delete(run_id)) return
    const kept = this.#stored.filter(({ question }) => question.run_id !== run_id)
    this.#stored.splice(0, this.#stored.length, ...kept)
  }

  #seen({ question, expires_at }: Stored): Question {
    if (question.status !== "open" || expires_at > this.#clock.now()) return question
    return { ...question, status: "expired" }
  }
}
