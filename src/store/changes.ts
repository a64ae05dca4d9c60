import { parseInOrder } from "../base/ordered-object.ts"
import type { WakeUp } from "../base/wake-up.ts"
import { Listeners, OnceListeners } from "../ports/listeners.ts"
import type { LogEvent } from "../log/events.ts"
import { followLog, type GrowingLog } from "../ports/follow-log.ts"
import { Watch } from "../ports/follower-buffer.ts"
import type { LogPart, LogReader, RunHead } from "./log-reader.ts"
import type { News, SqlMedium } from "./sql-medium.ts"
import type { WaitReader } from "./wait-reader.ts"

/** What one of thousands of followers has in hand at a time. */
const followedPage = { events: 50, bytes: 32 * 1024 }
/** How this process finds what others have written and did not announce. */
export interface Looks {
  readonly pollMs: number
  /** Every so many looks, we also look at the runs that we believe to be ours. */
  readonly thoroughEvery: number
}

/**
 * Reports changes of the database to whom they concern: new events to followers, requests to cancel, outcomes of waits,
 * new notices. The store reports its own changes here; those of other processes are announced by the medium, or found by looking.
 */
export class Changes {
  readonly #medium: SqlMedium
  readonly #reader: LogReader
  readonly #waits: WaitReader
  readonly #looks: Looks
  /** Runs that this store has the lease of, as far as it knows. */
  readonly #own = new Set<string>()
  /** Runs created here that nobody has cancelled through this store. */
  readonly #fresh = new Set<string>()
  readonly #watches = new Map<string, Watch>()
  /** Parts of logs that are being read for followers, by their rows. */
  readonly #opening = new Map<string, Promise<readonly LogEvent[]>>()
  readonly #cancelListeners = new OnceListeners()
  readonly #outcomeListeners = new Listeners<[run_id: string]>()
  readonly #noticeListeners = new Listeners()
  #poll: NodeJS.Timeout | null = null
  #looked = 0
  /** The database's version at the last look, and at the last thorough one. */
  #seenVersion = -1
  #thoroughVersion = -1
  #closed = false

  constructor(medium: SqlMedium, reader: LogReader, waits: WaitReader, looks: Looks) {
    this.#medium = medium
    this.#reader = reader
    this.#waits = waits
    this.#looks = looks
    medium.onNews((news) => this.#hear(news))
  }

  /** This store has the lease of a run that it made. */
  created(run_id: string): void {
    this.#own.add(run_id)
    this.#fresh.add(run_id)
  }

  /** This store has the lease of a run that another process may have worked on. */
  claimed(run_id: string): void {
    this.#own.add(run_id)
  }

  /** This store no longer has the lease. */
  disowned(run_id: string): void {
    this.#own.delete(run_id)
    this.#fresh.delete(run_id)
  }

  /** Followers get the events as they were stored: the caller of the append might change its own. */
  appended(run_id: string, stored: string): void {
    this.#watches.get(run_id)?.add(parseInOrder(stored) as LogEvent[], stored.length)
  }

  /** Followers read what is new up to this event from the store. */
  appendedUnread(run_id: string, last: number): void {
    this.#watches.get(run_id)?.skip(last)
  }

  follow(run_id: string, after: number, signal: AbortSignal): AsyncIterable<LogEvent> {
    return followLog(this.#growingLog(run_id), after, signal)
  }

  #growingLog(run_id: string): GrowingLog {
    let head: RunHead | undefined
    let watch: Watch | undefined
    return {
      run_id,
      watch: (wakeUp) => {
        if (this.#closed) return () => {}
        watch = this.#watch(run_id, wakeUp)
        return () => this.#unwatch(run_id, wakeUp)
      },
      page: async (after) => {
        if (this.#closed) return { events: [], over: true }
        const newest = head === undefined ? null : (watch?.after(after) ?? null)
        if (newest !== null) return { events: newest, over: false }
        try {
          head ??= this.#reader.known(run_id) ?? (await this.#medium.read(this.#reader.head(run_id)))
          if (head === undefined) return { events: [], over: true }
          const part = await this.#medium.read(this.#reader.part(head, after, followedPage))
          const events = await this.#open(part)
          return { events, over: part.state !== "open", gone: part.state === "gone" }
        } catch (error) {
          // Followers end with the store.
          if (this.#closed) return { events: [], over: true }
          throw error
        }
      },
    }
  }

  /** Followers who wait for the same rows of a database that answers later share one read. */
  async #open(part: LogPart): Promise<readonly LogEvent[]> {
    const [first, last] = [part.rows[0], part.rows.at(-1)]
    if (first === undefined || last === undefined) return this.#medium.read(this.#reader.open(part))
    const rows = `${part.head.num}/${first.last}-${last.last}`
    let opening = this.#opening.get(rows)
    if (opening === undefined) {
      const whole = this.#medium.read(this.#reader.open({ ...part, after: 0, limit: Number.POSITIVE_INFINITY }))
      if (!(whole instanceof Promise)) return within(part, whole)
      opening = whole.finally(() => this.#opening.delete(rows))
      this.#opening.set(rows, opening)
    }
    return within(part, await opening)
  }

  #watch(run_id: string, wakeUp: WakeUp): Watch {
    let watch = this.#watches.get(run_id)
    if (watch === undefined) {
      watch = new Watch(0)
      this.#watches.set(run_id, watch)
    }
    watch.wakeUps.add(wakeUp)
    this.#pollLater()
    return watch
  }

  #unwatch(run_id: string, wakeUp: WakeUp): void {
    const watch = this.#watches.get(run_id)
    watch?.wakeUps.delete(wakeUp)
    if (watch?.wakeUps.size === 0) this.#watches.delete(run_id)
  }

  onOutcome(listener: (run_id: string) => void): () => void {
    const stop = this.#outcomeListeners.add(listener)
    // What came before is announced as well.
    this.#seenVersion = -1
    this.#pollLater()
    return stop
  }

  outcomeStored(run_id: string): void {
    this.#outcomeListeners.tell(run_id)
  }

  onCancel(run_id: string, listener: () => void): () => void {
    if (this.#closed) return () => {}
    const stop = this.#cancelListeners.add(run_id, listener)
    this.#pollLater()
    void this.#callIfCancelled(run_id)
    return stop
  }

  async #callIfCancelled(run_id: string): Promise<void> {
    try {
      const fresh = this.#fresh.has(run_id)
      if (!fresh && (await this.#medium.read(this.#reader.isCancelRequested(run_id)))) this.cancelStored(run_id)
      // Only another process can have asked for it by now, and the next look finds that.
      if (fresh) this.#seenVersion = -1
    } catch {
      // The next look at what other processes ask for will find it.
      this.#seenVersion = -1
    }
  }

  /** A request to cancel is on its way to the store. */
  cancelling(run_id: string): void {
    this.#fresh.delete(run_id)
  }

  cancelStored(run_id: string): void {
    this.#cancelListeners.tell(run_id)
  }

  onNotice(listener: () => void): () => void {
    return this.#noticeListeners.add(listener)
  }

  noticeStored(): void {
    this.#noticeListeners.tell()
  }

  close(): void {
    this.#closed = true
    if (this.#poll !== null) clearTimeout(this.#poll)
    this.#cancelListeners.clear()
    this.#outcomeListeners.clear()
    // Followers look once more, and find the store closed.
    for (const watch of this.#watches.values()) for (const wakeUp of watch.wakeUps) wakeUp.signal()
  }

  /** Other processes cannot ring our bells: while a caller waits here, look at the database regularly. */
  #pollLater(): void {
    if (this.#poll !== null || this.#closed) return
    const awaited = this.#watches.size > 0 || this.#cancelListeners.size > 0
    if (!awaited && this.#outcomeListeners.size === 0) return
    this.#poll = setTimeout(() => {
      this.#look()
        // The store cannot be read now. Readers get the error themselves; look again later.
        .catch(() => undefined)
        .finally(() => {
          this.#poll = null
          this.#pollLater()
        })
    }, this.#looks.pollMs)
    // Listening for outcomes alone keeps no process alive.
    if (!awaited) this.#poll.unref()
  }

  #hear({ what, run_id }: News): void {
    switch (what) {
      case "events": {
        const watch = this.#watches.get(run_id)
        if (watch !== undefined) this.#lookAt(run_id, watch).catch(() => this.#lookAgain())
        return
      }
      case "cancel":
        this.cancelStored(run_id)
        return this.outcomeStored(run_id)
      case "outcome":
        return this.outcomeStored(run_id)
      case "all":
        this.#lookAtAll(true).catch(() => this.#lookAgain())
    }
  }

  /** The next look looks at everything. */
  #lookAgain(): void {
    this.#seenVersion = -1
    this.#thoroughVersion = -1
  }

  async #look(): Promise<void> {
    const version = await this.#medium.version()
    const thorough = ++this.#looked % this.#looks.thoroughEvery === 0
    if (version === (thorough ? this.#thoroughVersion : this.#seenVersion)) return
    this.#seenVersion = version
    if (thorough) this.#thoroughVersion = version
    try {
      await this.#lookAtAll(thorough)
    } catch (error) {
      this.#lookAgain()
      throw error
    }
  }

  async #lookAtAll(thorough: boolean): Promise<void> {
    if (this.#cancelListeners.size > 0) {
      for (const run_id of await this.#medium.read(this.#reader.cancelRequests())) this.cancelStored(run_id)
    }
    if (this.#outcomeListeners.size > 0) {
      for (const run_id of await this.#medium.read(this.#waits.newsOfRuns())) this.outcomeStored(run_id)
    }
    for (const [run_id, watch] of this.#watches) {
      if (thorough || !this.#own.has(run_id)) await this.#lookAt(run_id, watch)
    }
  }

  async #lookAt(run_id: string, watch: Watch): Promise<void> {
    const head = this.#reader.known(run_id) ?? (await this.#medium.read(this.#reader.head(run_id)))
    if (head === undefined) return
    const last = await this.#medium.read(this.#reader.last(head.num))
    if (last <= watch.seen) return
    // A watch that has seen nothing yet, or is further behind than a page: followers read for themselves.
    if (watch.seen > 0) {
      const part = await this.#medium.read(this.#reader.part(head, watch.seen, followedPage))
      watch.add(await this.#open(part), followedPage.bytes)
    }
    if (watch.seen < last) watch.skip(last)
  }
}

function within({ after, limit }: LogPart, events: readonly LogEvent[]): readonly LogEvent[] {
  return events.filter(({ id }) => id > after).slice(0, limit)
}
