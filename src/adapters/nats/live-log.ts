import type { WakeUp } from "../../base/wake-up.ts"
import { isTerminal, type LogEvent } from "../../log/events.ts"
import type { GrowingLog, LogPage } from "../../ports/follow-log.ts"
import { Watch } from "../../ports/follower-buffer.ts"
import { Damaged } from "../../ports/store.ts"
import type { DataKey } from "../../ports/vault.ts"
import { openEvents } from "../../store/sealed-events.ts"
import type { Broker } from "./broker.ts"
import type { LogReader } from "./log-reader.ts"
import { bytesOf, isCut, open } from "./rows.ts"
import type { RunFacts, RunRows } from "./run-rows.ts"
import type { Announcement } from "./transport.ts"

/** Announcements may get lost on their way: how often to look at a silent run. */
const quietMs = 1_000
/** What one of thousands of followers has in hand at a time. */
const followedPage = { events: 50, bytes: 32 * 1024 }

/** The runs that are followed in this process: one subscription a run, however many follow it. */
export class LiveLogs {
  readonly #broker: Broker
  readonly #runs: RunRows
  readonly #reader: LogReader
  readonly #logs = new Map<string, LiveLog>()
  readonly #stopLooking: () => void
  #closed = false

  constructor(broker: Broker, runs: RunRows, reader: LogReader) {
    this.#broker = broker
    this.#runs = runs
    this.#reader = reader
    this.#stopLooking = broker.every(quietMs / 2, () => this.#look(quietMs))
    broker.onReconnect(() => this.#look(0))
  }

  growing(run_id: string): GrowingLog {
    let log: LiveLog | null = null
    return {
      run_id,
      watch: (wakeUp) => {
        if (this.#closed) return () => {}
        log = this.#watch(run_id, wakeUp)
        return () => this.#unwatch(run_id, wakeUp)
      },
      page: (after) => {
        if (log === null || this.#closed) return { events: [], over: true }
        return log.page(after)
      },
    }
  }

  /** Events that this process itself has stored. */
  stored(run_id: string, events: readonly LogEvent[], bytes: number): void {
    this.#logs.get(run_id)?.add(events, bytes)
  }

  /** The event that ends a run whose log cannot be read. */
  failedAsCorrupt(run_id: string, end: LogEvent): void {
    this.#logs.get(run_id)?.endWith(end)
  }

  close(): void {
    this.#closed = true
    this.#stopLooking()
    for (const log of this.#logs.values()) log.close()
  }

  #watch(run_id: string, wakeUp: WakeUp): LiveLog {
    let log = this.#logs.get(run_id)
    if (log === undefined) {
      log = new LiveLog(this.#broker, this.#runs, this.#reader, run_id)
      this.#logs.set(run_id, log)
    }
    log.wakeUps.add(wakeUp)
    return log
  }

  #unwatch(run_id: string, wakeUp: WakeUp): void {
    const log = this.#logs.get(run_id)
    log?.wakeUps.delete(wakeUp)
    if (log === undefined || log.wakeUps.size > 0) return
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
  readonly #runs: RunRows
  readonly #reader: LogReader
  readonly #run_id: string
  readonly #watch = new Watch(0)
  readonly #stop: () => void
  #ready: Promise<void> | null = null
  #key: DataKey | null = null
  #over = false
  #gone = false
  #marks: RunFacts["marks"] = undefined
  #closed = false
  #end: LogEvent | null = null
  /** Something was announced before it was known where the log stands. */
  #early = false
  heardAt: number

  constructor(broker: Broker, runs: RunRows, reader: LogReader, run_id: string) {
    this.#broker = broker
    this.#runs = runs
    this.#reader = reader
    this.#run_id = run_id
    this.heardAt = broker.now()
    const { names } = broker
    // Listen first, then look: what is stored in between is announced.
    this.#stop = broker.listen(names.live(names.run(run_id)), (message) => this.#received(message))
  }

  get wakeUps(): Set<WakeUp> {
    return this.#watch.wakeUps
  }

  async page(after: number): Promise<LogPage> {
    this.#ready ??= this.#start()
    try {
      await this.#ready
    } catch (error) {
      this.#ready = null
      if (!this.#closed) throw error
    }
    try {
      return await this.#page(after)
    } catch (error) {
      if (!(error instanceof Damaged)) throw error
      // The process that owns the run ends it, if it has not done so yet.
      await this.#lookOnce()
      if (this.#end === null) throw error
      return this.#page(after)
    }
  }

  async #page(after: number): Promise<LogPage> {
    if (this.#closed) return { events: [], over: true }
    if (this.#end !== null) return { events: this.#end.id > after ? [this.#end] : [], over: true }
    const newest = this.#watch.after(after)
    if (newest !== null) return { events: newest, over: false }
    if (after >= this.#watch.seen) return { events: [], over: this.#over, gone: this.#gone }
    const range = { after, last: this.#watch.seen, marks: this.#marks }
    const events =
      this.#key === null ? [] : await this.#reader.events(this.#run_id, this.#key, range, followedPage, false)
    if (events.length > 0) return { events, over: false }
    // Nothing where there was something: retention took it, or the log was given up meanwhile.
    await this.#lookOnce()
    if (this.#end !== null) return this.#page(after)
    return { events, over: true, gone: !this.#closed }
  }

  async #start(): Promise<void> {
    await this.#broker.flush()
    const run = await this.#runs.get(this.#run_id)
    if (run === null) {
      this.#over = true
      return
    }
    if (run.facts.failedAsCorrupt === undefined) this.#key = await this.#runs.key(run)
    this.#learn(run.facts)
    if (this.#early) await this.#lookOnce()
  }

  #learn({ last, finished_at, failedAsCorrupt, marks }: RunFacts): void {
    if (failedAsCorrupt !== undefined) return this.endWith(failedAsCorrupt)
    this.#marks = marks
    const isOver = finished_at !== undefined
    if (isOver) this.#over = true
    if (last > this.#watch.seen) this.#watch.skip(last)
    else if (isOver) this.#signal()
  }

  #received({ subject, data }: Announcement): void {
    this.heardAt = this.#broker.now()
    if (this.#key === null) {
      this.#early = true
      return
    }
    try {
      const row = open<RunFacts>({ subject, seq: 0, data })
      const { first, last, marks } = row.facts
      if (first === undefined || last <= this.#watch.seen) return
      this.#marks = marks
      // Followers read from the store what is stored in pieces, or comes after something that was not heard.
      if (isCut(row) || first !== this.#watch.seen + 1) return this.look()
      this.add(openEvents(this.#key, last, row.parts[2]), bytesOf(row))
    } catch {
      // Whoever reads it from the store is told what is wrong with it.
      this.look()
    }
  }

  add(events: readonly LogEvent[], bytes: number): void {
    const last = events.at(-1)
    if (this.#key === null) this.#early = true
    if (last === undefined || this.#key === null) return
    this.heardAt = this.#broker.now()
    if (isTerminal(last.type)) this.#over = true
    this.#watch.add(events, bytes)
  }

  endWith(end: LogEvent): void {
    this.#end = end
    this.#over = true
    this.#signal()
  }

  /** Reads what may have been missed. Failures are for the next look. */
  look(): void {
    if (this.#key === null || this.#over || this.#closed) return
    this.#lookOnce().catch(() => undefined)
  }

  async #lookOnce(): Promise<void> {
    this.heardAt = this.#broker.now()
    const run = await this.#runs.get(this.#run_id)
    if (run === null) {
      this.#gone = this.#key !== null
      this.#over = true
      this.#signal()
    } else this.#learn(run.facts)
  }

  #signal(): void {
    for (const wakeUp of this.wakeUps) wakeUp.signal()
  }

  close(): void {
    this.#closed = true
    this.#stop()
    this.#signal()
  }
}
