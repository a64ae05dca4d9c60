import { objectOf } from "../../base/ordered-object.ts"
import { memoryOf } from "../../base/memory-of.ts"
import type { LogEvent } from "../../log/events.ts"
import { Damaged, type Lease, type RunStore } from "../../ports/store.ts"
import type { Wait, WaitKind, WaitPage } from "../../ports/waits.ts"
import { overlayStore } from "../../ports/wrap-store.ts"

// The questions of a loop often show the same: a document, and always the schema of the answer. A large part of a question is stored once for
// a run. Later questions name the event that has it, in a field of their own, and every reader gets them whole.

type Path = readonly (string | number)[]

/** Where a part is: in the question of an event. */
interface Place {
  readonly id: number
  readonly path: Path
}

/** A part of a question that an earlier event has. */
interface SamePart {
  readonly at: Path
  readonly id: number
  readonly from: Path
}

interface Short {
  readonly same_as?: readonly SamePart[]
}

/** Parts of fewer bytes are stored again. */
const small = 1024
/** Parts that are looked for again, the newest. */
const remembered = 64
/** About what a reference takes. */
const referenceBytes = 100
/** Bytes of events that were read because others name them. The newest is kept whatever its size. */
const keptBytes = 4 * 1024 * 1024

/** The large parts that the questions of one run have shown: texts by their content, all else by its identity. */
export class SharedParts {
  readonly #seen = new Map<unknown, Place>()

  /** About how many bytes the question of an event takes without the parts that earlier ones have. */
  bytesOf(id: number, question: object): number {
    return this.#visit(question, id, [], []).bytes
  }

  /** A question without the parts that earlier ones have. */
  shorten(event: LogEvent): LogEvent {
    const same: SamePart[] = []
    const { value } = this.#visit(event.data, event.id, [], same)
    if (same.length === 0) return event
    return { ...event, data: { ...(value as object), same_as: same } } as unknown as LogEvent
  }

  #visit(value: unknown, id: number, path: (string | number)[], same: SamePart[]): { value: unknown; bytes: number } {
    if (typeof value !== "string" && (typeof value !== "object" || value === null)) return { value, bytes: 8 }
    if (typeof value === "string" && value.length < small) return { value, bytes: value.length }
    const known = this.#seen.get(value)
    // An append that is made again has its own events here, which do not name themselves.
    if (known !== undefined && known.id < id) {
      same.push({ at: [...path], id: known.id, from: known.path })
      return { value: null, bytes: referenceBytes }
    }
    const visited = typeof value === "string" ? { value, bytes: value.length } : this.#inside(value, id, path, same)
    if (visited.bytes >= small && path.length > 0) this.#remember(value, { id, path: [...path] })
    return visited
  }

  #inside(value: object, id: number, path: (string | number)[], same: SamePart[]): { value: object; bytes: number } {
    let copy: Record<string, unknown> | null = null
    let bytes = 0
    for (const [key, part] of Object.entries(value)) {
      path.push(Array.isArray(value) ? Number(key) : key)
      const visited = this.#visit(part, id, path, same)
      path.pop()
      bytes += key.length + visited.bytes
      if (visited.value === part) continue
      copy ??= (Array.isArray(value) ? [...(value as unknown[])] : objectOf(Object.entries(value))) as Record<
        string,
        unknown
      >
      copy[key] = visited.value
    }
    return { value: copy ?? value, bytes }
  }

  #remember(part: unknown, place: Place): void {
    this.#seen.delete(part)
    this.#seen.set(part, place)
    const [oldest] = this.#seen.keys()
    if (this.#seen.size > remembered) this.#seen.delete(oldest)
  }
}

/** The same store, in which the questions of a run store what they share once. */
export function shareParts(store: RunStore): RunStore {
  const written = new WeakMap<Lease, SharedParts>()
  const whole = new WholeQuestions(store)
  return overlayStore(store, {
    append(...[lease, events, entries, move]: Parameters<RunStore["append"]>): Promise<void> {
      if (!events.some(({ type }) => type === "question_asked")) return store.append(lease, events, entries, move)
      const parts = written.get(lease) ?? new SharedParts()
      written.set(lease, parts)
      return store.append(
        lease,
        events.map((event) => (event.type === "question_asked" ? parts.shorten(event) : event)),
        entries,
        move,
      )
    },
    async read(...call: Parameters<RunStore["read"]>): Promise<LogEvent[]> {
      const events = await store.read(...call)
      return events.some(isShort) ? Promise.all(events.map((event) => whole.event(call[0], event))) : events
    },
    follow(run_id: string, after: number, signal: AbortSignal): AsyncIterable<LogEvent> {
      return whole.events(run_id, store.follow(run_id, after, signal))
    },
    waits: {
      async ofRun(...call) {
        return whole.page(await store.waits.ofRun(...call))
      },
      async one(...call) {
        const wait = await store.waits.one(...call)
        return wait === null ? null : whole.wait(wait)
      },
      async list(query) {
        return whole.page(await store.waits.list(query), "leave damaged ones out")
      },
      async settle(...call) {
        const settling = await store.waits.settle(...call)
        return settling === null ? null : { ...settling, wait: await whole.wait(settling.wait) }
      },
    },
  })
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
    const made = this.#complete(run_id, event.data).then((data) => ({ ...event, data }) as LogEvent)
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

  async wait<K extends WaitKind>(wait: Wait<K>): Promise<Wait<K>> {
    return "same_as" in wait.about ? { ...wait, about: await this.#complete(wait.run_id, wait.about) } : wait
  }

  async page<K extends WaitKind>({ found, next }: WaitPage<K>, how?: "leave damaged ones out"): Promise<WaitPage<K>> {
    const completed = await Promise.all(
      found.map(async ({ wait, position }) => {
        try {
          return [{ wait: await this.wait(wait), position }]
        } catch (error) {
          if (how === undefined || !(error instanceof Damaged)) throw error
          return []
        }
      }),
    )
    return { found: completed.flat(), next }
  }

  async #complete<Data extends object>(run_id: string, data: Data): Promise<Data> {
    const { same_as = [], ...short } = data as Data & Short
    let whole: unknown = short
    for (const { at, id, from } of same_as) {
      const event = await this.#event(run_id, id)
      if (event !== null) whole = withPart(whole, at, partAt(event.data, from))
    }
    return whole as Data
  }

  /** The event that has a part: whole, for its own parts may be those of others. */
  #event(run_id: string, id: number): Promise<LogEvent | null> {
    const name = `${run_id} ${id}`
    const known = this.#read.get(name)
    if (known !== undefined) return known
    const reading = this.#store
      .read(run_id, id - 1, 1)
      .then(([event]) => (event?.id === id ? this.event(run_id, event) : null))
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

function partAt(value: unknown, path: Path): unknown {
  return path.reduce((part, key) => (part as Record<string | number, unknown>)[key], value)
}

/** The value with another part, which keeps its place. Others may have the value. */
function withPart(value: unknown, [key, ...rest]: Path, part: unknown): unknown {
  if (key === undefined) return part
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }) as Record<string, unknown>
  copy[key] = withPart(copy[key], rest, part)
  return copy
}
