import { Damaged, TooNew } from "../../ports/store.ts"
import type { Clock } from "../../ports/clock.ts"
import type { AskedQuestions } from "./asked-questions.ts"
import type { Broker } from "./broker.ts"
import type { LogReader } from "./log-reader.ts"
import { lastToken } from "./names.ts"
import { hourMs, inTurns, type QuestionEntries } from "./question-entries.ts"
import type { QuestionOutcomes } from "./settle-questions.ts"
import { endOf } from "./slot.ts"

/** How often to look for expiries in all hours, not only in this one and the one before. */
const wholeLookMs = 5 * 60_000
const mostExpired = 1_000

/** Finds the questions whose time has come. */
export class QuestionExpiry {
  readonly #broker: Broker
  readonly #reader: LogReader
  readonly #entries: QuestionEntries
  readonly #asked: AskedQuestions
  readonly #settling: QuestionOutcomes
  readonly #clock: Clock
  #wholeLookAt = Number.NEGATIVE_INFINITY

  constructor(
    broker: Broker,
    reader: LogReader,
    entries: QuestionEntries,
    asked: AskedQuestions,
    settling: QuestionOutcomes,
    clock: Clock,
  ) {
    this.#broker = broker
    this.#reader = reader
    this.#entries = entries
    this.#asked = asked
    this.#settling = settling
    this.#clock = clock
  }

  async expire(): Promise<number> {
    const now = this.#clock.now()
    const whole = now - this.#wholeLookAt >= wholeLookMs || now < this.#wholeLookAt
    const hour = Math.floor(now / hourMs)
    const hours = whole ? ["*"] : [String(hour), String(hour - 1)]
    const lists = await Promise.all(hours.map((one) => this.#broker.list("ask", this.#broker.names.dueIn(one))))
    if (whole) this.#wholeLookAt = now
    const due = lists
      .flat()
      .filter((subject) => Number(subject.split(".").at(-3)) <= now)
      .slice(0, mostExpired)
    const expired = await inTurns(due, (subject) => this.#expireOne(subject).catch(unlessUnreadable))
    return expired.filter(Boolean).length
  }

  /**
   * Stores the expiry of a question, or removes what is left of one that nobody will ask. The process that asks it may still be
   * storing the slot: its clock may be behind ours, and the broker slow. It stops trying when its lease or its run is over. Only an
   * entry that is read after that is the last one: each attempt to ask replaces it.
   */
  async #expireOne(subject: string): Promise<boolean> {
    const run_id = subject.split(".").at(-2) ?? ""
    const place = this.#broker.names.questionByToken(run_id, lastToken(subject))
    const asked = await this.#asked.at(place)
    if (asked !== null) return this.#settling.settle(asked, null)
    const tail = await this.#reader.tail(run_id)
    const entry = await this.#entries.latestAt(place)
    if (entry !== null) {
      if (tail !== null && endOf(tail.facts) === null && tail.facts.fence <= entry.fence) return false
      if ((await this.#asked.by(entry)) !== null) return false
      await this.#entries.erase(entry)
    }
    await this.#broker.erase("ask", subject)
    return false
  }
}

/** A run that cannot be read, or not by this release, does not block other runs. */
function unlessUnreadable(error: unknown): false {
  if (error instanceof Damaged || error instanceof TooNew) return false
  throw error
}
