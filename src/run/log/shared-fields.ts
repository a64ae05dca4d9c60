import { createHash } from "node:crypto"
import { memoryOf } from "../../base/memory-of.ts"
import type { LogEvent, Question } from "../../ports/events.ts"
import type { AnswerOutcome, QuestionPage } from "../../ports/questions.ts"
import { Damaged, type Lease, type RunStore } from "../../ports/store.ts"
import { wrapStore, type StoreMethod } from "../../ports/wrap-store.ts"

// The questions of a loop often show the same: a document, and always the schema of the answer. Each is stored once for a run. An event
// that repeats it names the event that has it, in a field of its own, and every reader gets it whole.

/** The fields of a question that may be large. */
const shareable = ["question", "show", "schema", "arguments"] as const

/** JSON of fewer characters is stored again. */
const small = 1024
/** Values of each field that are looked for again, the newest. */
const remembered = 4
/** Bytes of events that were read because others name them. The newest is kept whatever its size. */
const keptBytes = 4 * 1024 * 1024

/** By field: the event of the run that has the value. */
type SameAs = Readonly<Record<string, number>>

interface Short {
  readonly same_as?: SameAs
}

/** The same store, in which a run's questions store what they share once. */
export function shareFields(store: RunStore): RunStore {
  const written = new WeakMap<Lease, SharedFields>()
  const whole = new WholeQuestions(store)
  const sharing = {
    append(lease: Lease, events: readonly LogEvent[]): Promise<void> {
      if (!events.some(({ type }) => type === "question_asked")) return store.append(lease, events)
      const fields = written.get(lease) ?? new SharedFields()
      written.set(lease, fields)
      return store.append(
        lease,
        events.map((event) => fields.shorten(event)),
      )
    },
    async read(...call: Parameters<RunStore["read"]>): Promise<LogEvent[]> {
      const events = await store.read(...call)
      return events.some(isShort) ? Promise.all(events.map((event) => whole.event(call[0], event))) : events
    },
    follow(run_id: string, after: number, signal: AbortSignal): AsyncIterable<LogEvent> {
      return whole.events(run_id, store.follow(run_id, after, signal))
    },
    async questions(...call: Parameters<RunStore["questions"]>): Promise<QuestionPage> {
      return whole.page(await store.questions(...call))
    },
    async question(run_id: string, id: string): Promise<Question | null> {
      const question = await store.question(run_id, id)
      return question === null ? null : whole.question(question)
    },
    async inbox(...call: Parameters<RunStore["inbox"]>): Promise<QuestionPage> {
      return whole.page(await store.inbox(...call), "leave damaged ones out")
    },
    async answer(...call: Parameters<RunStore["answer"]>): Promise<AnswerOutcome | null> {
      const outcome = await store.answer(...call)
      return outcome === null ? null : { ...outcome, question: await whole.question(outcome.question) }
    },
  }
  return wrapStore(store, (name) => (Object.hasOwn(sharing, name) ? (Reflect.get(sharing, name) as StoreMethod) : null))
}

/** What the questions of one run have shown. */
class SharedFields {
  /** By field, then by a hash of its JSON: the event that has it. */
  readonly #seen = new Map<string, Map<string, number>>()

  shorten(event: LogEvent): LogEvent {
    if (event.type !== "question_asked") return event
    const data: Record<string, unknown> = { ...event.data }
    const same: Record<string, number> = {}
    for (const field of shareable) {
      const value = event.data[field]
      const text = value === undefined || value === null ? "" : JSON.stringify(value)
      if (text.length < small) continue
      const first = this.#first(field, text, event.id)
      if (first === event.id) continue
      same[field] = first
      // It keeps its place among the others.
      data[field] = null
    }
    if (Object.keys(same).length === 0) return event
    return { ...event, data: { ...data, same_as: same } as unknown as typeof event.data }
  }

  /** The first event with this value. An append that is made again has its own events here, which do not name themselves. */
  #first(field: string, text: string, id: number): number {
    const seen = this.#seen.get(field) ?? new Map<string, number>()
    this.#seen.set(field, seen)
    const hash = createHash("sha256").update(text).digest("base64")
    const known = seen.get(hash)
    if (known !== undefined && known < id) return known
    seen.delete(hash)
    seen.set(hash, id)
    const [oldest] = seen.keys()
    if (seen.size > remembered && oldest !== undefined) seen.delete(oldest)
    return id
  }
}

/** Puts back what questions share. */
class WholeQuestions {
  readonly #store: RunStore
  /** Events that others name, the newest last. */
  readonly #read = new Map<string, Promise<LogEvent | null>>()
  readonly #sizes = new Map<string, number>()
  #bytes = 0
  /** Readers that are given the same event get the same whole one. */
  readonly #whole = new WeakMap<LogEvent, Promise<LogEvent>>()

  constructor(store: RunStore) {
    this.#store = store
  }

  event(run_id: string, event: LogEvent): Promise<LogEvent> {
    if (!isShort(event)) return Promise.resolve(event)
    const known = this.#whole.get(event)
    if (known !== undefined) return known
    const made = this.#complete(run_id, event.data as Short).then((data) => ({ ...event, data }) as LogEvent)
    this.#whole.set(event, made)
    return made
  }

  events(run_id: string, events: AsyncIterable<LogEvent>): AsyncIterable<LogEvent> {
    return {
      [Symbol.asyncIterator]: () => {
        const iterator = events[Symbol.asyncIterator]()
        return {
          next: async () => {
            const { value, done } = await iterator.next()
            return done === true ? { value: undefined, done } : { value: await this.event(run_id, value), done: false }
          },
          return: async () => {
            await iterator.return?.()
            return { value: undefined, done: true }
          },
        }
      },
    }
  }

  async question(question: Question): Promise<Question> {
    return "same_as" in question ? this.#complete(question.run_id, question as Question & Short) : question
  }

  async page({ found, next }: QuestionPage, how?: "leave damaged ones out"): Promise<QuestionPage> {
    const completed = await Promise.all(
      found.map(async ({ question, position }) => {
        try {
          return [{ question: await this.question(question), position }]
        } catch (error) {
          if (how === undefined || !(error instanceof Damaged)) throw error
          return []
        }
      }),
    )
    return { found: completed.flat(), next }
  }

  async #complete<Data extends object>(run_id: string, short: Data & Short): Promise<Data> {
    const { same_as = {}, ...rest } = short
    const data: Record<string, unknown> = rest
    for (const [field, id] of Object.entries(same_as)) {
      const event = await this.#event(run_id, id)
      if (event !== null) data[field] = (event.data as unknown as Record<string, unknown>)[field]
    }
    return data as Data
  }

  #event(run_id: string, id: number): Promise<LogEvent | null> {
    const name = `${run_id} ${id}`
    const known = this.#read.get(name)
    if (known !== undefined) return known
    const reading = this.#store.read(run_id, id - 1, 1).then(([event]) => (event?.id === id ? event : null))
    this.#read.set(name, reading)
    reading.then(
      (event) => this.#keep(name, memoryOf(event?.data)),
      () => this.#read.delete(name),
    )
    return reading
  }

  #keep(name: string, bytes: number): void {
    this.#sizes.set(name, bytes)
    this.#bytes += bytes
    for (const [oldest, size] of this.#sizes) {
      if (this.#bytes <= keptBytes || oldest === name) break
      this.#sizes.delete(oldest)
      this.#read.delete(oldest)
      this.#bytes -= size
    }
  }
}

function isShort({ type, data }: LogEvent): boolean {
  return type === "question_asked" && "same_as" in data
}
