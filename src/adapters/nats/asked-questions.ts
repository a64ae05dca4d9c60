import { askedQuestion } from "../../log/asked-question.ts"
import { isoTime } from "../../base/iso-time.ts"
import { loopTurns } from "../../event-loop/loop-turns.ts"
import type { LogEvent, Question } from "../../log/events.ts"
import type { GivenAnswer } from "../../ports/question-store.ts"
import type { Broker } from "./broker.ts"
import { unpackFrame } from "./frame.ts"
import type { LogReader, RunHead } from "./log-reader.ts"
import { together, type Entry, type QuestionEntries } from "./question-entries.ts"
import { aboutOutcome, openEvents } from "./slot.ts"

export interface OutcomeFacts {
  readonly id: string
  readonly status: "answered" | "expired" | "withdrawn"
  readonly at: number
  /** Tells our own attempts from others'. */
  readonly nonce: string
}

/** A question that was asked. */
export interface Asked {
  readonly entry: Entry
  readonly head: RunHead
  readonly question: Question
}

interface Settled {
  readonly facts: OutcomeFacts
  readonly given: GivenAnswer | null
}

/** Questions as the log has them, and their outcomes. */
export class AskedQuestions {
  readonly #broker: Broker
  readonly #reader: LogReader
  readonly #entries: QuestionEntries

  constructor(broker: Broker, reader: LogReader, entries: QuestionEntries) {
    this.#broker = broker
    this.#reader = reader
    this.#entries = entries
  }

  /** The question at a subject; null where it was not asked. */
  async at(subject: string, slots = new OpenedSlots()): Promise<Asked | null> {
    const entry = await this.#entries.at(subject)
    return entry === null ? null : this.of(entry, slots)
  }

  async of(near: Entry, slots: OpenedSlots): Promise<Asked | null> {
    const asked = await this.by(near, slots)
    if (asked !== null) return asked
    // The nearest node may be behind, with the entry of an attempt that failed.
    const entry = await this.#entries.latestAt(this.#broker.names.question(near.run_id, near.id))
    return entry === null || entry.slot === near.slot ? null : this.by(entry, slots)
  }

  /** The question as the slot has it that its entry names. */
  async by(entry: Entry, slots = new OpenedSlots()): Promise<Asked | null> {
    const { run_id, slot: number } = entry
    const head = await this.#reader.head(run_id)
    if (head === null) return null
    const events = await slots.get(`${run_id} ${number}`, async () => {
      const slot = await this.#reader.slot(run_id, number, "sure", 1)
      if (slot === null) return []
      const turn = loopTurns.forLarge(slot.parts[0]?.length ?? 0)
      if (turn !== null) await turn
      return openEvents(head.key, slot, false)
    })
    for (const event of events) {
      if (event.type === "question_asked" && event.data.id === entry.id) {
        return { entry, head, question: { ...askedQuestion(event.data), status: "open" } }
      }
    }
    return null
  }

  async outcome({ run_id, id }: Pick<Entry, "run_id" | "id">, { key }: RunHead): Promise<Settled | null> {
    const stored = await this.#broker.get("ask", this.#broker.names.news(run_id, id), "sure")
    if (stored === null) return null
    const { facts, parts } = unpackFrame<OutcomeFacts>(stored.subject, stored.data)
    const [sealed] = parts
    return {
      facts,
      given: sealed === undefined ? null : (JSON.parse(key().open(aboutOutcome(id), sealed)) as GivenAnswer),
    }
  }

  /** Whether some of these questions have outcomes. */
  async haveOutcomes(run_id: string, asking: readonly string[]): Promise<boolean> {
    const news = new Set(await this.#broker.list("ask", this.#broker.names.newsOf(run_id)))
    return asking.some((id) => news.has(this.#broker.names.news(run_id, id)))
  }
}

/** The slots that were opened last: questions that were asked together are in one. */
export class OpenedSlots {
  readonly #opened = new Map<string, Promise<readonly LogEvent[]>>()

  get(name: string, open: () => Promise<readonly LogEvent[]>): Promise<readonly LogEvent[]> {
    const known = this.#opened.get(name)
    if (known !== undefined) return known
    const opening = open()
    this.#opened.set(name, opening)
    const [oldest] = this.#opened.keys()
    if (this.#opened.size > together && oldest !== undefined) this.#opened.delete(oldest)
    return opening
  }
}

export function withOutcome(question: Question, settled: Settled | null): Question {
  if (settled === null) return question
  const { facts, given } = settled
  if (given === null) return { ...question, status: facts.status }
  return { ...question, ...given, status: facts.status, answered_at: isoTime(facts.at) }
}
