import type { Bell } from "../../base/bell.ts"
import type { LogEvent } from "../../log/events.ts"
import { followLog, type GrowingLog } from "../../ports/follow-log.ts"
import { Watch } from "../../ports/follower-buffer.ts"
import type { LogReader, RunHead } from "./log-reader.ts"
import type { QuestionReader } from "./question-reader.ts"

/** What one of thousands of followers has in hand at a time. */
const followedPage = { events: 50, bytes: 32 * 1024 }
/** Every so many looks at what other processes do, we also look at the runs that we believe to be ours. */
const thoroughLook = 10

/**
 * Reports changes of the database to whom they concern: new events to followers, requests to cancel, outcomes of questions,
 * new notices. The store reports its own changes here; those of other processes are found by looking.
 */
export class Changes {
  readonly #reader: LogReader
  readonly #questions: QuestionReader
  readonly #pollMs: number
  /** Runs that this store has the lease of, as far as it knows. */
  readonly #own = new Set<string>()
  /** The ones of those that were made here and were not asked to stop through this store. */
  readonly #fresh = new Set<string>()
  readonly #watches = new Map<string, Watch>()
  readonly #cancelListeners = new Map<string, Set<() => void>>()
  readonly #outcomeListeners = new Set<(run_id: string) => void>()
  readonly #noticeListeners = new Set<() => void>()
  #poll: NodeJS.Timeout | null = null
  #looks = 0
  /** The database's version at the last look, and at the last thorough one. */
  #seenVersion = -1
  #thoroughVersion = -1
  #closed = false

  constructor(reader: LogReader, questions: QuestionReader, pollMs: number) {
    this.#reader = reader
    this.#questions = questions
    this.#pollMs = pollMs
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
    this.#watches.get(run_id)?.add(JSON.parse(stored) as LogEvent[], stored.length)
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
      watch: (bell) => {
        head = !this.#closed ? this.#reader.head(run_id) : undefined
        if (head === undefined) return () => {}
        watch = this.#watch(run_id, head, bell)
        return () => this.#unwatch(run_id, bell)
      },
      page: (after) => {
        if (head === undefined || this.#closed) return { events: [], over: true }
        const newest = watch?.after(after) ?? null
        if (newest !== null) return { events: newest, over: false }
        // In this order: a run that was over before the page was read has no events that the page lacks.
        const state = this.#reader.stateOf(head.num)
        return { events: this.#reader.page(head, after, followedPage), over: state !== "open", gone: state === "gone" }
      },
    }
  }

  #watch(run_id: string, head: RunHead, bell: Bell): Watch {
    let watch = this.#watches.get(run_id)
    if (watch === undefined) {
      watch = new Watch(this.#reader.last(head.num))
      this.#watches.set(run_id, watch)
    }
    watch.bells.add(bell)
    this.#pollLater()
    return watch
  }

  #unwatch(run_id: string, bell: Bell): void {
    const watch = this.#watches.get(run_id)
    watch?.bells.delete(bell)
    if (watch?.bells.size === 0) this.#watches.delete(run_id)
  }

  onOutcome(listener: (run_id: string) => void): () => void {
    const registered = (run_id: string): void => {
      if (this.#outcomeListeners.has(registered)) listener(run_id)
    }
    this.#outcomeListeners.add(registered)
    // What came before is announced as well.
    this.#seenVersion = -1
    this.#pollLater()
    return () => this.#outcomeListeners.delete(registered)
  }

  outcomeStored(run_id: string): void {
    for (const registered of this.#outcomeListeners) queueMicrotask(() => registered(run_id))
  }

  onCancel(run_id: string, listener: () => void): () => void {
    if (this.#closed) return () => {}
    const listeners = this.#cancelListeners.get(run_id) ?? new Set()
    const registered = () => {
      if (!listeners.delete(registered)) return
      if (listeners.size === 0) this.#cancelListeners.delete(run_id)
      listener()
    }
    this.#cancelListeners.set(run_id, listeners.add(registered))
    this.#pollLater()
    if (this.#wasCancelled(run_id)) queueMicrotask(registered)
    return () => {
      listeners.delete(registered)
      if (listeners.size === 0) this.#cancelListeners.delete(run_id)
    }
  }

  #wasCancelled(run_id: string): boolean {
    if (this.#fresh.has(run_id)) {
      // Only another process can have asked for it by now, and the next look finds that.
      this.#seenVersion = -1
      return false
    }
    try {
      return this.#reader.isCancelRequested(run_id)
    } catch {
      // The next look at what other processes ask for will find it.
      this.#seenVersion = -1
      return false
    }
  }

  /** A request to cancel is on its way to the store. */
  cancelling(run_id: string): void {
    this.#fresh.delete(run_id)
  }

  cancelStored(run_id: string): void {
    for (const registered of this.#cancelListeners.get(run_id) ?? []) queueMicrotask(registered)
  }

  onNotice(listener: () => void): () => void {
    const registered = (): void => listener()
    this.#noticeListeners.add(registered)
    return () => this.#noticeListeners.delete(registered)
  }

  noticeStored(): void {
    for (const registered of this.#noticeListeners) queueMicrotask(registered)
  }

  close(): void {
    this.#closed = true
    if (this.#poll !== null) clearTimeout(this.#poll)
    this.#cancelListeners.clear()
    this.#outcomeListeners.clear()
    // Followers look once more, and find the store closed.
    for (const watch of this.#watches.values()) for (const bell of watch.bells) bell.ring()
  }

  /** Other processes cannot ring our bells: while a caller waits here, look at the database regularly. */
  #pollLater(): void {
    if (this.#poll !== null || this.#closed) return
    const awaited = this.#watches.size > 0 || this.#cancelListeners.size > 0
    if (!awaited && this.#outcomeListeners.size === 0) return
    this.#poll = setTimeout(() => {
      this.#poll = null
      try {
        this.#look()
      } catch {
        // The store cannot be read now. Readers get the error themselves; look again later.
      }
      this.#pollLater()
    }, this.#pollMs)
    // Listening for outcomes alone keeps no process alive.
    if (!awaited) this.#poll.unref()
  }

  #look(): void {
    const version = this.#reader.version()
    const thorough = ++this.#looks % thoroughLook === 0
    if (version === (thorough ? this.#thoroughVersion : this.#seenVersion)) return
    if (this.#cancelListeners.size > 0) {
      for (const run_id of this.#reader.cancelRequests()) this.cancelStored(run_id)
    }
    if (this.#outcomeListeners.size > 0) {
      for (const run_id of this.#questions.newsOfRuns()) this.outcomeStored(run_id)
    }
    for (const [run_id, watch] of this.#watches) {
      if (thorough || !this.#own.has(run_id)) this.#lookAt(run_id, watch)
    }
    this.#seenVersion = version
    if (thorough) this.#thoroughVersion = version
  }

  #lookAt(run_id: string, watch: Watch): void {
    const head = this.#reader.head(run_id)
    if (head === undefined) return
    const last = this.#reader.last(head.num)
    if (last <= watch.seen) return
    const events = this.#reader.page(head, watch.seen, followedPage)
    watch.add(events, followedPage.bytes)
    // Further behind than a page: followers read the rest for themselves.
    if (watch.seen < last) watch.skip(last)
  }
}
