import { Listeners } from "../../ports/listeners.ts"
import { askedQuestion } from "../../log/asked-question.ts"
import { isoTime } from "../../base/iso-time.ts"
import { memoryOf } from "../../base/memory-of.ts"
import type { LogEvent, Question } from "../../log/events.ts"
import type { Clock } from "../../ports/clock.ts"
import {
  cutPage,
  isFor,
  questionsIn,
  type AnswerOutcome,
  type GivenAnswer,
  type InboxQuery,
  type QuestionPage,
  type QuestionStore,
  type StoredOutcome,
  type WaitingCounts,
} from "../../ports/question-store.ts"
import type { ParkedRuns } from "./parked-runs.ts"

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
export class MemoryQuestions implements QuestionStore {
  readonly #clock: Clock
  readonly #stored = new Set<Stored>()
  readonly #byRun = new Map<string, Stored[]>()
  readonly #parked: ParkedRuns
  readonly #listeners = new Listeners<[run_id: string]>()
  #asked = 0

  constructor(clock: Clock, parked: ParkedRuns) {
    this.#clock = clock
    this.#parked = parked
  }

  appended(run_id: string, caller: string, events: readonly LogEvent[]): void {
    const { asked, taken } = questionsIn(events)
    if (asked.length === 0 && taken.length === 0) return
    const ofRun = this.#byRun.get(run_id) ?? []
    this.#byRun.set(run_id, ofRun)
    for (const event of asked) {
      const question: Question = { ...askedQuestion(event.data), status: "open" }
      const expires_at = Date.parse(question.expires_at)
      const stored = { number: ++this.#asked, caller, expires_at, question, taken: false }
      this.#stored.add(stored)
      ofRun.push(stored)
    }
    const takenIn = new Set(taken)
    for (const stored of ofRun) if (takenIn.has(stored.question.id)) stored.taken = true
  }

  async ofRun(run_id: string, limit: number, after: string | null): Promise<QuestionPage> {
    return this.#page(this.#byRun.get(run_id) ?? [], limit, after)
  }

  async one(run_id: string, id: string): Promise<Question | null> {
    const stored = this.#byRun.get(run_id)?.find(({ question }) => question.id === id)
    return stored === undefined ? null : this.#seen(stored)
  }

  async waiting(caller: string): Promise<number> {
    return this.#parked.waitingOf(caller)
  }

  async waitingCounts(): Promise<WaitingCounts> {
    const open = this.#found(({ question }) => question.status === "open")
    const [oldest] = open
    return {
      runs: this.#parked.waiting,
      questions: open.length,
      oldest_asked_at: oldest === undefined ? null : Date.parse(oldest.question.asked_at),
    }
  }

  /** Whether there are some that the log does not show yet. */
  hasOutcomes(run_id: string): boolean {
    return this.#byRun.get(run_id)?.some(({ question, taken }) => question.status !== "open" && !taken) === true
  }

  async outcomes(run_id: string): Promise<StoredOutcome[]> {
    return (this.#byRun.get(run_id) ?? []).flatMap(({ question, taken }) => {
      const { id, status, answer, answered_by } = question
      if (status === "open" || taken) return []
      return [answer === undefined || answered_by === undefined ? { id, status } : { id, status, answer, answered_by }]
    })
  }

  async inbox(query: InboxQuery): Promise<QuestionPage> {
    const { status, limit, after } = query
    const found = this.#found((stored) => {
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

  async answer(run_id: string, id: string, given: GivenAnswer): Promise<AnswerOutcome | null> {
    const stored = this.#byRun.get(run_id)?.find(({ question }) => question.id === id)
    if (stored === undefined) return null
    if (stored.question.status !== "open") return { stored: false, question: stored.question }
    const now = this.#clock.now()
    const late = stored.expires_at <= now
    stored.question = late
      ? { ...stored.question, status: "expired" }
      : { ...stored.question, ...given, status: "answered", answered_at: isoTime(now) }
    this.wake(run_id)
    return { stored: !late, question: stored.question }
  }

  async expire(): Promise<number> {
    const now = this.#clock.now()
    const due = this.#found(({ question, expires_at }) => question.status === "open" && expires_at <= now)
    for (const stored of due) stored.question = { ...stored.question, status: "expired" }
    for (const run_id of new Set(due.map(({ question }) => question.run_id))) this.wake(run_id)
    return due.length
  }

  /** The run has a new outcome: the process that works on it takes it in, and a parked run can be claimed. */
  wake(run_id: string): void {
    this.#parked.wake(run_id)
    this.#listeners.tell(run_id)
  }

  onOutcome(listener: (run_id: string) => void): () => void {
    return this.#listeners.add(listener)
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
    for (const stored of this.#byRun.get(run_id) ?? []) this.#stored.delete(stored)
    this.#byRun.delete(run_id)
  }

  #found(fits: (stored: Stored) => boolean): Stored[] {
    const found: Stored[] = []
    for (const stored of this.#stored) if (fits(stored)) found.push(stored)
    return found
  }

  #seen({ question, expires_at }: Stored): Question {
    if (question.status !== "open" || expires_at > this.#clock.now()) return question
    return { ...question, status: "expired" }
  }
}
