import type { AnswerOutcome, GivenAnswer } from "../../ports/question-store.ts"
import type { Clock } from "../../ports/clock.ts"
import { withOutcome, type Asked, type AskedQuestions, type OutcomeFacts } from "./asked-questions.ts"
import type { Broker } from "./broker.ts"
import { packFrame } from "./frame.ts"
import type { LogReader, RunHead } from "./log-reader.ts"
import { isRunId, tokenOfId } from "./names.ts"
import type { Parking } from "./parking.ts"
import { inTurns, type Entry, type QuestionEntries } from "./question-entries.ts"
import { aboutOutcome, endOf, isParked } from "./slot.ts"

/** Stores the outcomes of questions: answers, expiries and withdrawals. Each is a message that is written once: the first writer decides. */
export class QuestionOutcomes {
  readonly #broker: Broker
  readonly #reader: LogReader
  readonly #parking: Parking
  readonly #entries: QuestionEntries
  readonly #asked: AskedQuestions
  readonly #clock: Clock

  constructor(
    broker: Broker,
    reader: LogReader,
    parking: Parking,
    entries: QuestionEntries,
    asked: AskedQuestions,
    clock: Clock,
  ) {
    this.#broker = broker
    this.#reader = reader
    this.#parking = parking
    this.#entries = entries
    this.#asked = asked
    this.#clock = clock
  }

  async answer(run_id: string, id: string, given: GivenAnswer): Promise<AnswerOutcome | null> {
    const asked = isRunId(run_id) ? await this.#asked.at(this.#broker.names.question(run_id, id)) : null
    if (asked === null) return null
    const { entry, head, question } = asked
    const mine = await this.settle(asked, this.#clock.now() < entry.expires_at ? given : null)
    const settled = await this.#asked.outcome(entry, head)
    return { stored: mine && settled?.facts.status === "answered", question: withOutcome(question, settled) }
  }

  /** Stores the outcome: the answer, or without one the expiry. False when there is one already. */
  async settle({ entry, head }: Asked, given: GivenAnswer | null): Promise<boolean> {
    const { run_id } = entry
    const tail = await this.#reader.tail(run_id)
    if (tail === null) return false
    if (endOf(tail.facts) !== null) {
      await this.#store(entry, head, "withdrawn", null)
      await this.#entries.refile(entry)
      return false
    }
    // Before the outcome: should this process die after it, the run is found by the mark. Died before it: a claim removes the mark.
    const isNew = tail.facts.asking?.includes(entry.id) === true
    if (isNew) await this.#parking.mark(run_id, tokenOfId(entry.id))
    const mine = await this.#store(entry, head, given === null ? "expired" : "answered", given)
    if (isNew) await this.#markAgain(entry)
    await this.#entries.refile(entry)
    return mine
  }

  /** A claim removes a mark without an outcome after a while, and storing this one may have taken longer. */
  async #markAgain({ run_id, id }: Entry): Promise<void> {
    const tail = await this.#reader.tail(run_id)
    if (tail !== null && isParked(tail.facts) && tail.facts.asking?.includes(id) === true) {
      await this.#parking.mark(run_id, tokenOfId(id))
    }
  }

  async #store(
    entry: Entry,
    head: RunHead,
    status: OutcomeFacts["status"],
    given: GivenAnswer | null,
  ): Promise<boolean> {
    const { run_id, id } = entry
    const nonce = this.#broker.token(9)
    const facts: OutcomeFacts = { id, status, at: this.#clock.now(), nonce }
    const parts = given === null ? [] : [head.key().seal(aboutOutcome(id), JSON.stringify(given))]
    const subject = this.#broker.names.news(run_id, id)
    const seq = await this.#broker.putOnce(subject, packFrame(facts, parts))
    return seq !== null || (await this.#asked.outcome(entry, head))?.facts.nonce === nonce
  }

  /** The run has ended: what is open expired before, or is withdrawn. */
  async withdraw(run_id: string, asking: readonly string[]): Promise<void> {
    const head = await this.#reader.head(run_id)
    if (head === null) return
    await inTurns(asking, async (id) => {
      const entry = await this.#entries.at(this.#broker.names.question(run_id, id))
      if (entry === null) return
      const late = entry.expires_at <= this.#clock.now()
      await this.#store(entry, head, late ? "expired" : "withdrawn", null)
      await this.#entries.refile(entry)
    })
  }
}
