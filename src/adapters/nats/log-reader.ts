import type { LogEvent } from "../../log/events.ts"
import { Damaged, StoreFailure } from "../../ports/store.ts"
import type { DataKey } from "../../ports/vault.ts"
import type { Broker } from "./broker.ts"
import { unpackFrame, type Frame } from "./frame.ts"
import type { WatchedVault } from "./key-record.ts"
import { isRunId } from "./names.ts"
import {
  aboutRun,
  carriedOn,
  endOf,
  isOfCaller,
  openEvents,
  type HeadFacts,
  type Slot,
  type SlotFacts,
} from "./slot.ts"
import type { Stored } from "./transport.ts"

const keptRuns = 5_000
/** Some slots of a run are remembered, to find others from there. */
const keptMarks = 64
const window = 16

export interface PageLimits {
  readonly events: number
  readonly bytes: number
}

/** What never changes in a run. */
export interface RunHead {
  readonly facts: HeadFacts
  /** Throws `Damaged` for one that cannot be opened. */
  readonly key: () => DataKey
  readonly request: Uint8Array
}

interface Mark {
  readonly slot: number
  /** The last event's id, that slot included. */
  readonly last: number
}

interface Known {
  head: RunHead | null
  /** By slot, ascending. */
  marks: Mark[]
}

/** The place of a slot whose message is damaged. */
interface Unreadable {
  readonly slot: number
  readonly damage: Damaged
}

function isUnreadable(found: Slot | Unreadable): found is Unreadable {
  return "damage" in found
}

function readableFrame(subject: string, data: Uint8Array): Frame<SlotFacts> | null {
  try {
    return unpackFrame<SlotFacts>(subject, data)
  } catch (error) {
    if (error instanceof Damaged) return null
    throw error
  }
}

/** The key of a run, unless the head names another caller than the one who made it: whoever can write to the broker could do that. */
function ofCaller(run_id: string, caller: string, key: () => DataKey, request: Uint8Array): () => DataKey {
  let checked: DataKey | null = null
  return () => {
    if (checked !== null) return checked
    const opened = key()
    if (!isOfCaller(opened, request, caller)) throw new Damaged(`Run ${run_id} is not of the caller that it names`)
    checked = opened
    return opened
  }
}

/** Finds slots by number. A slot that was found stays as it is; one that was not may come. */
export class LogReader {
  readonly #broker: Broker
  readonly #vault: WatchedVault
  readonly #known = new Map<string, Known>()

  constructor(broker: Broker, vault: WatchedVault) {
    this.#broker = broker
    this.#vault = vault
  }

  /** Null for a run that never was, or is gone. */
  async head(run_id: string): Promise<RunHead | null> {
    if (!isRunId(run_id)) return null
    const known = this.#known.get(run_id)?.head
    if (known !== undefined && known !== null) return known
    const found = await this.slot(run_id, 0, "sure", 2)
    if (found === null || found.facts.kind !== "head") return null
    const [wrapped, request] = found.parts
    if (wrapped === undefined || request === undefined) throw new Damaged(`Run ${run_id} has a damaged head`)
    const { facts } = found
    const key = ofCaller(run_id, facts.caller, await this.#openKey(run_id, wrapped), request)
    return this.remember(run_id, { facts, key, request })
  }

  /** A run under a root that this process does not have is not damaged: it must not be ended as one that is. */
  async #openKey(run_id: string, wrapped: Uint8Array): Promise<() => DataKey> {
    const open = (): DataKey => this.#vault.openKey(aboutRun(run_id), wrapped)
    try {
      const key = open()
      return () => key
    } catch (error) {
      if (!(error instanceof Damaged)) throw error
      const refusal = await this.#vault.look()
      if (refusal !== null) throw new StoreFailure(refusal, error)
      return open
    }
  }

  /** The event that a run ends with whose log cannot be read; null for a run that was not condemned. */
  async condemnedEnd(run_id: string): Promise<LogEvent | null> {
    const tail = await this.tail(run_id)
    return tail?.facts.kind === "events" ? (tail.facts.condemned ?? null) : null
  }

  remember(run_id: string, head: RunHead): RunHead {
    this.#knownOf(run_id).head = head
    return head
  }

  forget(run_id: string): void {
    this.#known.delete(run_id)
  }

  /** One slot, with so many of its parts at least. */
  async slot(run_id: string, slot: number, how: "near" | "sure", parts = 0): Promise<Slot | null> {
    const stored = await this.#broker.get("log", this.#broker.names.slot(run_id, slot), how)
    return stored === null ? null : this.#whole(run_id, slot, stored, parts)
  }

  async slotFromLeader(run_id: string, slot: number, parts = 0): Promise<Slot | null> {
    const stored = await this.#broker.getFromLeader("log", this.#broker.names.slot(run_id, slot))
    return stored === null ? null : this.#whole(run_id, slot, stored, parts)
  }

  /** What a message says, unless some of it is stored apart. A damaged one is reported when its slot is read. */
  readSlot(run_id: string, slot: number, subject: string, data: Uint8Array): Slot | null {
    const frame = readableFrame(subject, data)
    if (frame === null) return null
    const { facts, parts } = frame
    if (facts.cut !== undefined) return null
    this.noteMark(run_id, { slot, last: facts.last })
    return { slot, facts, parts }
  }

  async #whole(run_id: string, slot: number, { subject, data }: Stored, wanted: number): Promise<Slot> {
    const { facts, parts } = unpackFrame<SlotFacts>(subject, data)
    this.noteMark(run_id, { slot, last: facts.last })
    if (facts.cut === undefined) return { slot, facts, parts }
    let piece = 0
    const joined = facts.cut.map((pieces, index) => {
      if (pieces === 0) return Promise.resolve(parts[index] ?? new Uint8Array(0))
      const subjects = Array.from({ length: pieces }, () =>
        this.#broker.names.piece(run_id, slot, facts.nonce, piece++),
      )
      return index < wanted ? this.#join(subjects) : Promise.resolve(new Uint8Array(0))
    })
    return { slot, facts, parts: await Promise.all(joined) }
  }

  async #join(subjects: readonly string[]): Promise<Uint8Array> {
    const pieces = await Promise.all(subjects.map((subject) => this.#broker.get("log", subject, "sure")))
    return Buffer.concat(
      pieces.map((piece, index) => {
        if (piece === null) throw new Damaged(`A piece of a log is missing: ${subjects[index]}`)
        return piece.data
      }),
    )
  }

  /**
   * The last slot, as the leader knows it; null for a run that never was, or is gone. Where that slot is damaged, it says what the
   * slots before it say, and how many are damaged. Throws `Damaged` when no slot of the run can be read.
   */
  async tail(run_id: string): Promise<Slot | null> {
    if (!isRunId(run_id)) return null
    const hint = this.#known.get(run_id)?.marks.at(-1)?.slot ?? (await this.#doneSlot(run_id))
    let tail = await this.#look(run_id, hint, "sure")
    if (tail === null && hint > 0) {
      this.forget(run_id)
      tail = await this.#look(run_id, 0, "sure")
    }
    if (tail === null || (!isUnreadable(tail) && tail.facts.kind === "void")) return null
    for (;;) {
      if (!isUnreadable(tail) && endOf(tail.facts) !== null) return tail
      const next = await this.#look(run_id, tail.slot + 1, "leader")
      if (next === null) return isUnreadable(tail) ? this.#standingBefore(run_id, tail) : tail
      tail = await this.#lastNear(run_id, next)
    }
  }

  /** A slot as it was found; one that is damaged has its place all the same. */
  async #look(run_id: string, slot: number, how: "near" | "sure" | "leader"): Promise<Slot | Unreadable | null> {
    try {
      return await (how === "leader" ? this.slotFromLeader(run_id, slot) : this.slot(run_id, slot, how))
    } catch (error) {
      if (error instanceof Damaged) return { slot, damage: error }
      throw error
    }
  }

  /** How a run stands whose last slot is damaged. Any of the damaged slots may have been a claim. */
  async #standingBefore(run_id: string, { slot, damage }: Unreadable): Promise<Slot> {
    for (let before = slot - 1; before >= 0; before--) {
      const found = await this.#look(run_id, before, "sure")
      if (found === null || isUnreadable(found)) continue
      const { nonce, fence, session, last } = found.facts
      const facts = { kind: "claim", nonce, fence, session, last, ...carriedOn(found.facts) } as const
      return { slot, facts, parts: [], damaged: slot - before }
    }
    throw damage
  }

  /** The last slot that the nearest node has, from one that is there. */
  async #lastNear(run_id: string, from: Slot | Unreadable): Promise<Slot | Unreadable> {
    let low = from
    let high = Number.POSITIVE_INFINITY
    for (let step = 1; high === Number.POSITIVE_INFINITY; step *= 2) {
      const found = await this.#look(run_id, low.slot + step, "near")
      if (found === null) high = low.slot + step
      else low = found
    }
    while (high - low.slot > 1) {
      const middle = Math.floor((low.slot + high) / 2)
      const found = await this.#look(run_id, middle, "near")
      if (found === null) high = middle
      else low = found
    }
    return low
  }

  /** Where the list of ended runs says that the log ends. */
  async #doneSlot(run_id: string): Promise<number> {
    const done = await this.#broker.get("done", this.#broker.names.done(run_id), "near")
    return done === null ? 0 : unpackFrame<{ slot: number }>(done.subject, done.data).facts.slot
  }

  /** Events with an id over `after`. Empty: there are no more now. */
  async page(run_id: string, after: number, limits: PageLimits, kept: boolean): Promise<LogEvent[]> {
    try {
      return await this.#page(run_id, after, limits, kept)
    } catch (error) {
      const end = error instanceof Damaged ? await this.condemnedEnd(run_id) : null
      if (end === null) throw error
      return end.id > after ? [end] : []
    }
  }

  async #page(run_id: string, after: number, limits: PageLimits, kept: boolean): Promise<LogEvent[]> {
    const head = await this.head(run_id)
    if (head === null) return []
    const found: LogEvent[] = []
    const parts = kept ? 2 : 1
    let bytes = 0
    let slot = await this.#seek(run_id, after)
    for (let many = 2; ; many = Math.min(many * 2, window)) {
      const expected = (this.#known.get(run_id)?.marks.at(-1)?.slot ?? 0) + 2 - slot
      const slots = await Promise.all(
        Array.from({ length: Math.min(window, Math.max(expected, many)) }, (_, index) =>
          this.slot(run_id, slot + index, "near", parts),
        ),
      )
      for (const near of slots) {
        // What the nearest node lacks, in the order of the log, the leader may have.
        const one = near ?? (await this.slotFromLeader(run_id, slot, parts))
        slot++
        if (one === null) return found
        if (one.facts.kind !== "events") continue
        for (const event of openEvents(head.key, one, kept)) {
          if (event.id > after && found.length < limits.events) found.push(event)
        }
        bytes += one.parts.reduce((sum, part) => sum + part.length, 0)
        if (found.length >= limits.events || (bytes >= limits.bytes && found.length > 0)) return found
        if (one.facts.end !== null) return found
      }
    }
  }

  /** A slot from which on the events after `after` are found soon. */
  async #seek(run_id: string, after: number): Promise<number> {
    let low = this.#markBefore(run_id, after)
    if (after - low.last < window) return low.slot + 1
    let high = Number.POSITIVE_INFINITY
    for (let step = window; high - low.slot > window;) {
      const probe = high === Number.POSITIVE_INFINITY ? low.slot + step : Math.floor((low.slot + high) / 2)
      const found = await this.slot(run_id, probe, "near")
      if (found === null || found.facts.last > after) high = probe
      else low = { slot: probe, last: found.facts.last }
      step *= 2
    }
    return low.slot + 1
  }

  /** The highest slot that is known to end with that event, or before it. */
  slotBefore(run_id: string, after: number): number {
    return this.#markBefore(run_id, after).slot
  }

  #markBefore(run_id: string, after: number): Mark {
    let low: Mark = { slot: 0, last: 0 }
    for (const mark of this.#known.get(run_id)?.marks ?? []) {
      if (mark.last > after) break
      low = mark
    }
    return low
  }

  noteMark(run_id: string, mark: Mark): void {
    const { marks } = this.#knownOf(run_id)
    const newest = marks.at(-1)
    if (newest !== undefined && mark.slot <= newest.slot) return
    marks.push(mark)
    // Every second one goes: the older, the sparser.
    if (marks.length > keptMarks) this.#knownOf(run_id).marks = marks.filter((_, index) => index % 2 === 0)
  }

  #knownOf(run_id: string): Known {
    const known = this.#known.get(run_id) ?? { head: null, marks: [] }
    this.#known.delete(run_id)
    this.#known.set(run_id, known)
    if (this.#known.size > keptRuns) {
      const [oldest] = this.#known.keys()
      if (oldest !== undefined) this.#known.delete(oldest)
    }
    return known
  }
}
