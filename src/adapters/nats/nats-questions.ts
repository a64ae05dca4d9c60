import { memoryOf } from "../../base/memory-of.ts"
import type { Clock } from "../../ports/clock.ts"
import {
  isFor,
  questionPageBytes,
  type AnswerOutcome,
  type GivenAnswer,
  type InboxQuery,
  type PlacedQuestion,
  type QuestionPage,
  type QuestionStore,
  type StoredOutcome,
  type WaitingCounts,
} from "../../ports/question-store.ts"
import { Damaged } from "../../ports/store.ts"
import type { Question } from "../../log/events.ts"
import { OpenedSlots, withOutcome, type Asked, type AskedQuestions } from "./asked-questions.ts"
import type { Broker } from "./broker.ts"
import { QuestionExpiry } from "./expire-questions.ts"
import type { LogReader } from "./log-reader.ts"
import { isRunId } from "./names.ts"
import type { OutcomeNews } from "./outcome-news.ts"
import { countedMs, type Parking } from "./parking.ts"
import { inTurns, padded, together, type Entry, type QuestionEntries } from "./question-entries.ts"
import type { QuestionOutcomes } from "./settle-questions.ts"
import { endOf, type Slot } from "./slot.ts"

/** How old the list of many questions may be. What is shown of each is read anew. */
const inboxMs = 1_000

export interface QuestionParts {
  readonly entries: QuestionEntries
  readonly asked: AskedQuestions
  readonly settling: QuestionOutcomes
}

/**
 * Questions. What they ask is in the log; beside it are entries that find them by run, by who may answer, and by their expiry,
 * all stored before the slot that asks, so that nobody sees a question that cannot be answered. The outcome is a message that is
 * written once: the first writer decides.
 */
export class NatsQuestions implements QuestionStore {
  readonly #broker: Broker
  readonly #reader: LogReader
  readonly #parking: Parking
  readonly #news: OutcomeNews
  readonly #parts: QuestionParts
  readonly #expiry: QuestionExpiry
  readonly #clock: Clock

  constructor(
    broker: Broker,
    reader: LogReader,
    parking: Parking,
    news: OutcomeNews,
    parts: QuestionParts,
    clock: Clock,
  ) {
    this.#broker = broker
    this.#reader = reader
    this.#parking = parking
    this.#news = news
    this.#parts = parts
    this.#expiry = new QuestionExpiry(broker, reader, parts.entries, parts.asked, parts.settling, clock)
    this.#clock = clock
  }

  async ofRun(run_id: string, limit: number, after: string | null): Promise<QuestionPage> {
    if (!isRunId(run_id)) return { found: [], next: null }
    const [subjects, tail] = await Promise.all([
      this.#broker.list("ask", this.#broker.names.questionsOf(run_id)),
      this.#reader.tail(run_id),
    ])
    if (tail === null) return { found: [], next: null }
    const entries = new Map<string, Entry>()
    for (const entry of await inTurns(subjects, (subject) => this.#parts.entries.at(subject))) {
      if (entry === null) continue
      const position = padded(entry.event_id)
      // A process that has lost the run leaves an entry with an earlier slot.
      if (entry.slot >= (entries.get(position)?.slot ?? 0)) entries.set(position, entry)
    }
    return this.#page([...entries.keys()], limit, after, async (position, slots) => {
      const entry = entries.get(position)
      const asked = entry === undefined ? null : await this.#parts.asked.of(entry, slots)
      return asked === null ? null : this.#view(asked, tail)
    })
  }

  /** Reads the questions at these positions in their order, until the page is full. */
  async #page(
    positions: readonly string[],
    limit: number,
    after: string | null,
    read: (position: string, slots: OpenedSlots) => Promise<Question | null>,
  ): Promise<QuestionPage> {
    const order = positions.toSorted().filter((position) => after === null || position > after)
    const slots = new OpenedSlots()
    const found: PlacedQuestion[] = []
    let bytes = 0
    for (let at = 0; at < order.length; at += together) {
      const some = order.slice(at, at + together)
      const questions = await Promise.all(some.map((position) => read(position, slots)))
      for (const [index, position] of some.entries()) {
        const question = questions[index] ?? null
        if (question === null) continue
        bytes += memoryOf(question)
        const isFull = found.length >= limit || (found.length > 0 && bytes > questionPageBytes)
        if (isFull) return { found, next: found.at(-1)?.position ?? null }
        found.push({ question, position })
      }
    }
    return { found, next: null }
  }

  one(run_id: string, id: string): Promise<Question | null> {
    return isRunId(run_id) ? this.#oneAt(this.#broker.names.question(run_id, id)) : Promise.resolve(null)
  }

  async #oneAt(subject: string): Promise<Question | null> {
    const asked = await this.#parts.asked.at(subject)
    const tail = asked === null ? null : await this.#reader.tail(asked.entry.run_id)
    return asked === null || tail === null ? null : this.#view(asked, tail)
  }

  /** Outcomes that the log does not show. */
  async outcomes(run_id: string): Promise<StoredOutcome[]> {
    const tail = await this.#reader.tail(run_id)
    if (tail === null || endOf(tail.facts) !== null) return []
    const { asking = [] } = tail.facts
    const news = new Set(await this.#broker.list("ask", this.#broker.names.newsOf(run_id)))
    const ids = asking.filter((id) => news.has(this.#broker.names.news(run_id, id)))
    const head = ids.length === 0 ? null : await this.#reader.head(run_id)
    if (head === null) return []
    const found = await inTurns(ids, (id) => this.#parts.asked.outcome({ run_id, id }, head))
    return found.flatMap((settled) => {
      if (settled === null) return []
      const { id, status } = settled.facts
      return [settled.given === null ? { id, status } : { id, status, ...settled.given }]
    })
  }

  /** The open ones: how many, and when the oldest was asked. */
  waiting(caller: string): Promise<number> {
    return this.#parking.count(caller)
  }

  async waitingCounts(): Promise<WaitingCounts> {
    const [runs, open] = await Promise.all([this.#parking.countAll(), this.#openOnes()])
    return { runs, ...open }
  }

  onOutcome(listener: (run_id: string) => void): () => void {
    return this.#news.on(listener)
  }

  async #openOnes(): Promise<Omit<WaitingCounts, "runs">> {
    const subjects = await this.#broker.listRecent("ask", this.#broker.names.inbox("open", "*", "*"), countedMs)
    // in.PLACE.CALLER.TO.ASKED.RUN.EVENT.ID
    const oldest = subjects.reduce((first, subject) => Math.min(first, Number(subject.split(".").at(-4))), Infinity)
    return { questions: subjects.length, oldest_asked_at: subjects.length === 0 ? null : oldest }
  }

  async inbox(query: InboxQuery): Promise<QuestionPage> {
    const { caller, groups, member_of, status, to, limit, after } = query
    const own = this.#parking.callerToken(caller)
    const filters: { readonly caller: string; readonly to: string }[] = []
    if (to === null) {
      filters.push({ caller: own, to: "*" })
      for (const group of member_of) filters.push({ caller: "*", to: this.#parts.entries.addressee(group) })
    } else if (!groups.includes(to)) filters.push({ caller: own, to: this.#parts.entries.addressee(to) })
    else if (member_of.includes(to)) filters.push({ caller: "*", to: this.#parts.entries.addressee(to) })
    // Questions whose expiry is not stored yet are among the open ones.
    const places = status === "open" ? ["open"] : status === "expired" ? ["open", "done"] : ["done"]
    const lists = await Promise.all(
      places.flatMap((place) =>
        filters.map(({ caller: asker, to: addressee }) =>
          this.#broker.listRecent("ask", this.#broker.names.inbox(place, asker, addressee), inboxMs),
        ),
      ),
    )
    const groupTokens = new Set(groups.map((group) => this.#parts.entries.addressee(group)))
    const memberTokens = new Set(member_of.map((group) => this.#parts.entries.addressee(group)))
    const found = new Map<string, { readonly run_id: string; readonly token: string }>()
    for (const subject of lists.flat()) {
      // in.PLACE.CALLER.TO.ASKED.RUN.EVENT.ID
      const [asker = "", addressee = "", asked = "", run_id = "", event = "", token = ""] = subject.split(".").slice(-6)
      const theirs = groupTokens.has(addressee) ? memberTokens.has(addressee) : asker === own
      if (theirs) found.set(`${asked}.${run_id}.${event}`, { run_id, token })
    }
    return this.#page([...found.keys()], limit, after, async (position, slots) => {
      const { run_id = "", token = "" } = found.get(position) ?? {}
      const question = await this.#inInbox(this.#broker.names.questionByToken(run_id, token), query, slots)
      return question?.status === status ? question : null
    })
  }

  /** Null where it was put into this inbox in the broker: the run's request and the log say whose it is. */
  async #inInbox(subject: string, query: InboxQuery, slots: OpenedSlots): Promise<Question | null> {
    try {
      const asked = await this.#parts.asked.at(subject, slots)
      const tail = asked === null ? null : await this.#reader.tail(asked.entry.run_id)
      if (asked === null || tail === null) return null
      return isFor(query, asked.head.facts.caller, asked.question.to) ? await this.#view(asked, tail) : null
    } catch (error) {
      // Damage is reported to the reader of that run.
      if (error instanceof Damaged) return null
      throw error
    }
  }

  async #view({ entry, head, question }: Asked, tail: Slot): Promise<Question> {
    const settled = await this.#parts.asked.outcome(entry, head)
    if (settled !== null) return withOutcome(question, settled)
    if (entry.expires_at <= this.#clock.now()) return { ...question, status: "expired" }
    return endOf(tail.facts) === null ? question : { ...question, status: "withdrawn" }
  }

  answer(run_id: string, id: string, given: GivenAnswer): Promise<AnswerOutcome | null> {
    return this.#parts.settling.answer(run_id, id, given)
  }

  expire(): Promise<number> {
    return this.#expiry.expire()
  }
}
