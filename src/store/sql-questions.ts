import { askedQuestion } from "../log/asked-question.ts"
import type { LogEvent, Question } from "../log/events.ts"
import type { Clock } from "../ports/clock.ts"
import { loopTurns } from "../event-loop/loop-turns.ts"
import {
  cutPage,
  questionsIn,
  type AnswerOutcome,
  type GivenAnswer,
  type InboxQuery,
  type PlacedQuestion,
  type QuestionPage,
  type QuestionStore,
  type StoredOutcome,
  type WaitingCounts,
} from "../ports/question-store.ts"
import type { DataKey } from "../ports/vault.ts"
import type { Changes } from "./changes.ts"
import type { LogReader } from "./log-reader.ts"
import type { AppendOperation } from "./operations.ts"
import type { SqlMedium } from "./sql-medium.ts"
import type { Steps } from "./sql.ts"
import type { QuestionReader, StoredQuestion } from "./question-reader.ts"
import { sealAnswer, sealQuestion } from "./sealed-questions.ts"

/** Whether events ask people, or take outcomes in. */
export function concernsPeople(events: readonly LogEvent[]): boolean {
  const { asked, taken } = questionsIn(events)
  return asked.length > 0 || taken.length > 0
}

/** What people are asked: seals questions and answers, and tells the listeners of outcomes. */
export class Questions implements QuestionStore {
  readonly #medium: SqlMedium
  readonly #log: LogReader
  readonly #reader: QuestionReader
  readonly #changes: Changes
  readonly #clock: Clock

  constructor(medium: SqlMedium, log: LogReader, reader: QuestionReader, changes: Changes, clock: Clock) {
    this.#medium = medium
    this.#log = log
    this.#reader = reader
    this.#changes = changes
    this.#clock = clock
  }

  /** What an append says of questions, and its blobs. */
  appended(
    key: DataKey,
    events: readonly LogEvent[],
    waits: boolean,
    log: readonly [Uint8Array, Uint8Array | null],
  ): Pick<AppendOperation, "people" | "blobs"> {
    const { asked, taken } = questionsIn(events)
    if (asked.length === 0 && taken.length === 0 && !waits) return { blobs: log }
    const blobs = asked.flatMap((event) => {
      const question = askedQuestion(event.data)
      return [sealQuestion(key, question), question.to === null ? null : this.#reader.addressee(question.to)]
    })
    const due = asked.map(({ data: { id, expires_at } }) => ({ id, expires_at: Date.parse(expires_at) }))
    return { people: { now: this.#clock.now(), asked: due, taken, waits }, blobs: [...log, ...blobs] }
  }

  async ofRun(run_id: string, limit: number, after: string | null): Promise<QuestionPage> {
    const stored = await this.#medium.read(this.#reader.ofRun(run_id, limit + 1, numberOf(after)))
    return this.#page(stored, limit, (num) => this.#reader.read(num, this.#clock.now()))
  }

  async one(run_id: string, id: string): Promise<Question | null> {
    return this.#medium.read(this.#reader.one(run_id, id, this.#clock.now()))
  }

  async outcomes(run_id: string): Promise<StoredOutcome[]> {
    const found: StoredOutcome[] = []
    for (const { num, bytes } of await this.#medium.read(this.#reader.outcomes(run_id))) {
      await loopTurns.spend(bytes)
      const outcome = await this.#medium.read(this.#reader.outcome(num))
      if (outcome !== null) found.push(outcome)
    }
    return found
  }

  async inbox(query: InboxQuery): Promise<QuestionPage> {
    const { limit, after } = query
    const stored = await this.#medium.read(this.#reader.inbox(query, this.#clock.now(), numberOf(after)))
    return this.#page(stored, limit, (num) => this.#reader.inInbox(num, query, this.#clock.now()))
  }

  /** Opens those that fit on a page, in turns. */
  async #page(
    stored: readonly StoredQuestion[],
    limit: number,
    open: (num: number) => Steps<Question | null>,
  ): Promise<QuestionPage> {
    const { fitting, more } = cutPage(stored, limit, ({ bytes }) => bytes)
    const found: PlacedQuestion[] = []
    for (const { num, bytes } of fitting) {
      await loopTurns.spend(bytes)
      const question = await this.#medium.read(open(num))
      if (question !== null) found.push({ question, position: String(num) })
    }
    const last = fitting.at(-1)
    return { found, next: more && last !== undefined ? String(last.num) : null }
  }

  async waiting(caller: string): Promise<number> {
    return this.#medium.read(this.#reader.waiting(caller))
  }

  async waitingCounts(): Promise<WaitingCounts> {
    return this.#medium.read(this.#reader.waitingCounts(this.#clock.now()))
  }

  async answer(run_id: string, id: string, given: GivenAnswer): Promise<AnswerOutcome | null> {
    const head = await this.#medium.read(this.#log.head(run_id))
    if (head === undefined) return null
    const now = this.#clock.now()
    const blobs = [sealAnswer(head.key, id, given)] as const
    const result = await this.#medium.send(
      { kind: "answer", run: head.num, id, now, blobs },
      { news: { what: "outcome", run_id } },
    )
    if (result === "stored" || result === "late") this.#changes.outcomeStored(run_id)
    const question = await this.#medium.read(this.#reader.one(run_id, id, now))
    return question === null ? null : { stored: result === "stored", question }
  }

  onOutcome(listener: (run_id: string) => void): () => void {
    return this.#changes.onOutcome(listener)
  }

  async expire(): Promise<number> {
    const now = this.#clock.now()
    let all = 0
    while (await this.#medium.read(this.#reader.isDue(now))) {
      const news = { what: "all", run_id: "" } as const
      const expired = await this.#medium.send({ kind: "expire", now, blobs: [] }, { news })
      for (const run_id of new Set(expired)) this.#changes.outcomeStored(run_id)
      if (expired.length === 0) break
      all += expired.length
    }
    return all
  }
}

/** The number of the question that a page begins after. Nothing comes after a position that no page has given. */
function numberOf(position: string | null): number {
  const number = position === null ? 0 : Number(position)
  return Number.isSafeInteger(number) ? number : Number.MAX_SAFE_INTEGER
}
