import type { Bell } from "../../base/bell.ts"
import type { LogEvent } from "../../log/events.ts"
import type { GrowingLog, LogPage } from "../../ports/follow-log.ts"
import { Watch } from "../../ports/follower-buffer.ts"
import type { Broker } from "./broker.ts"
import type { LogReader, RunHead } from "./log-reader.ts"
import { lastToken } from "./names.ts"
import { Damaged } from "../../ports/store.ts"
import { endOf, openEvents, type Slot } from "./slot.ts"

/** Core messages may get lost on their way: how often to look at a silent run. */
const quietMs = 1_000
/** Slots of a followed run that are kept for other readers. */
const keptSlots = 24
const keptEnds = 4_000

interface OpenedSlot {
  readonly last: number
  readonly events: readonly LogEvent[]
}

/** The runs that are followed in this process: one subscription a run, however many follow it. */
export class LiveLogs {
  readonly #broker: Broker
  readonly #reader: LogReader
  readonly #logs = new Map<string, LiveLog>()
  readonly #stopLooking: () => void
  #closed = false

  constructor(broker: Broker, reader: LogReader) {
    this.#broker = broker
    this.#reader = reader
    this.#stopLooking = broker.every(quietMs / 2, () => this.#look(quietMs))
    broker.onReconnect(() => this.#look(0))
  }

  growing(run_id: string): GrowingLog {
    let log: LiveLog | null = null
    return {
      run_id,
      watch: (bell) => {
        if (this.#closed) return () => {}
        log = this.#watch(run_id, bell)
        return () => this.#unwatch(run_id, bell)
      },
      page: (after) => {
        if (log === null || this.#closed) return { events: [], over: true }
        return log.page(after)
      },
    }
  }

  /** What this process itself has stored. */
  stored(run_id: string, slot: number, events: readonly LogEvent[], bytes: number, over: boolean): void {
    this.#logs.get(run_id)?.add(slot, events, bytes, over)
  }

  close(): void {
    this.#closed = true
    this.#stopLooking()
    for (const log of this.#logs.values()) log.close()
  }

  #watch(run_id: string, bell: Bell): LiveLog {
    let log = this.#logs.get(run_id)
    if (log === undefined) {
      log = new LiveLog(this.#broker, this.#reader, run_id)
      this.#logs.set(run_id, log)
    }
    log.bells.add(bell)
    return log
  }

  #unwatch(run_id: string, bell: Bell): void {
    const log = this.#logs.get(run_id)
    log?.bells.delete(bell)
    if (log === undefined || log.bells.size > 0) return
    this.#logs.delete(run_id)
    log.close()
  }

  #look(quiet: number): void {
    const before = this.#broker.now() - quiet
    for (const log of this.#logs.values()) if (log.heardAt <= before) log.look()
  }
}

class LiveLog {
  readonly #broker: Broker
  readonly #reader: LogReader
  readonly #run_id: string
  readonly #watch = new Watch(0)
  readonly #stop: () => void
  /** Slots that were read a moment ago. */
  readonly #slots = new Map<number, Promise<OpenedSlot | null>>()
  /** Which slot ends with which event. */
  readonly #ends = new Map<number, number>()
  #ready: Promise<void> | null = null
  #head: RunHead | null = null
  /** The slot that comes next; 0 until it is known where the log stands. */
  #next = 0
  #over = false
  #closed = false
  #unreadable: { readonly error: unknown } | null = null
  /** The highest slot that was announced while we could not take it. */
  #announced = -1
  #filling: Promise<void> | null = null
  heardAt: number

  constructor(broker: Broker, reader: LogReader, run_id: string) {
    this.#broker = broker
    this.#reader = reader
    this.#run_id = run_id
    this.heardAt = broker.now()
    // Listen first, then look: what is stored in between is announced.
    this.#stop = broker.listen(broker.names.live(run_id), ({ subject, data }) => this.#received(subject, data))
  }

  get bells(): Set<Bell> {
    return this.#watch.bells
  }

  async page(after: number): Promise<LogPage> {
    try {
      return await this.#page(after)
    } catch (error) {
      const end = error instanceof Damaged ? await this.#reader.condemnedEnd(this.#run_id) : null
      if (end === null) throw error
      return { events: end.id > after ? [end] : [], over: true }
    }
  }

  async #page(after: number): Promise<LogPage> {
    this.#ready ??= this.#start()
    try {
      await this.#ready
    } catch (error) {
      this.#ready = null
      if (!this.#closed) throw error
    }
    if (this.#closed) return { events: [], over: true }
    if (this.#unreadable !== null) throw this.#unreadable.error
    const newest = this.#watch.after(after)
    if (newest !== null) return { events: newest, over: false }
    if (after >= this.#watch.seen) return { events: [], over: this.#over }
    const events = await this.#storedPage(after)
    // Nothing where there was something: retention took it.
    const gone = events.length === 0 && !this.#closed
    return { events, over: gone || this.#closed, gone }
  }

  /** The rest of the slot that the next event is in. Followers share what is read, and hold no more than one slot each. */
  async #storedPage(after: number): Promise<readonly LogEvent[]> {
    try {
      for (let slot = await this.#seek(after); slot < this.#next; slot++) {
        const opened = await this.#opened(slot)
        if (opened === null) return []
        if (opened.last > after) return opened.events.filter(({ id }) => id > after)
      }
      return []
    } catch (error) {
      if (this.#closed) return []
      throw error
    }
  }

  /** The slot after the last one whose events are all known to the follower. */
  async #seek(after: number): Promise<number> {
    const known = this.#ends.get(after)
    if (known !== undefined) return known + 1
    let [low, high] = [this.#reader.slotBefore(this.#run_id, after), this.#next]
    while (high - low > 1) {
      // Most readers begin at the start, or go on from where they are.
      const probe = Math.min(low + Math.max(1, after), Math.floor((low + high) / 2))
      const opened = await this.#opened(probe)
      if (opened === null || opened.last > after) high = probe
      else low = probe
    }
    return low + 1
  }

  #opened(slot: number): Promise<OpenedSlot | null> {
    const known = this.#slots.get(slot)
    if (known !== undefined) return known
    const opened = this.#open(slot)
    this.#slots.set(slot, opened)
    opened.catch(() => this.#slots.delete(slot))
    if (this.#slots.size > keptSlots) {
      const [oldest] = this.#slots.keys()
      if (oldest !== undefined) this.#slots.delete(oldest)
    }
    return opened
  }

  async #open(slot: number): Promise<OpenedSlot | null> {
    const found = await this.#reader.slot(this.#run_id, slot, "sure", 1)
    if (found === null || this.#head === null) return null
    const events = found.facts.kind === "events" ? openEvents(this.#head.key, found, false) : []
    this.#ends.set(found.facts.last, slot)
    if (this.#ends.size > keptEnds) this.#ends.clear()
    return { last: found.facts.last, events }
  }

  async #start(): Promise<void> {
    await this.#broker.flush()
    const [tail, head] = await Promise.all([this.#reader.tail(this.#run_id), this.#reader.head(this.#run_id)])
    if (tail === null || head === null) {
      this.#over = true
      return
    }
    this.#head = head
    this.#next = tail.slot + 1
    this.#over = endOf(tail.facts) !== null
    if (tail.facts.last > this.#watch.seen) this.#watch.skip(tail.facts.last)
    if (this.#announced >= this.#next) await this.#fill()
  }

  #received(subject: string, data: Uint8Array): void {
    const slot = Number(lastToken(subject))
    this.heardAt = this.#broker.now()
    if (this.#next !== 0 && slot < this.#next) return
    if (slot === this.#next && this.#head !== null && this.#filling === null) {
      const whole = this.#reader.readSlot(this.#run_id, slot, subject, data)
      if (whole !== null) return this.#take(whole)
    }
    this.#announced = Math.max(this.#announced, slot)
    if (this.#next !== 0) this.look()
  }

  add(slot: number, events: readonly LogEvent[], bytes: number, over: boolean): void {
    if (this.#next === 0 || slot !== this.#next) {
      this.#announced = Math.max(this.#announced, slot)
      if (this.#next !== 0 && slot > this.#next) this.look()
      return
    }
    this.#next++
    this.heardAt = this.#broker.now()
    if (over) this.#over = true
    this.#watch.add(events, bytes)
  }

  #take(slot: Slot): void {
    if (this.#head === null) return
    try {
      const events = slot.facts.kind === "events" ? openEvents(this.#head.key, slot, false) : []
      const bytes = slot.parts[0]?.length ?? 0
      this.add(slot.slot, events, bytes, endOf(slot.facts) !== null)
    } catch (error) {
      // The followers get the error.
      this.#unreadable = { error }
      this.#over = true
      for (const bell of this.bells) bell.ring()
    }
  }

  /** Reads what we may have missed. Failures are for the next look. */
  look(): void {
    this.#slots.clear()
    if (this.#next === 0 || this.#over || this.#closed) return
    this.heardAt = this.#broker.now()
    this.#fill().catch(() => undefined)
  }

  #fill(): Promise<void> {
    this.#filling ??= this.#fillOnce().finally(() => (this.#filling = null))
    return this.#filling
  }

  async #fillOnce(): Promise<void> {
    while (!this.#closed && !this.#over) {
      const how = this.#announced >= this.#next ? "sure" : "near"
      const found = await this.#reader.slot(this.#run_id, this.#next, how, 1)
      if (found !== null) this.#take(found)
      // It may have been announced while we asked the nearest node.
      else if (how === "sure" || this.#announced < this.#next) return
    }
  }

  close(): void {
    this.#closed = true
    this.#stop()
    for (const bell of this.bells) bell.ring()
  }
}
