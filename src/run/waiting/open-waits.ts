import { isoTime } from "../../base/iso-time.ts"
import type { Clock } from "../../ports/clock.ts"
import type { RunStore } from "../../ports/store.ts"
import type { WaitOutcome } from "../../ports/waits.ts"
import type { StartedWait, WaitingFor } from "../../log/events.ts"
import type { Alarm } from "../../log/replay-data.ts"
import type { WaitReplayState } from "../../log/replay-state.ts"
import type { EventLog } from "../log/log.ts"
import type { Redactor } from "../secrets/redact.ts"
import { endWait, takeOutcomes, type Awaited } from "./take-outcomes.ts"

export interface OpenWaitsParts {
  readonly runId: string
  readonly store: RunStore
  readonly log: EventLog
  readonly redactor: Redactor
  readonly clock: Clock
  /** Aborts when the run stops. */
  readonly signal: AbortSignal
  fail(error: unknown): void
  /** Resolves when nothing of the run can go on by itself: all of it waits. */
  quiet(): Promise<void>
  /** Leaves the run to what it waits for. */
  park(waitingFor: WaitingFor, alarms: readonly Alarm[]): void
}

interface Waiter {
  /** Aborts when the run, or the called workflow that waits, stops. */
  readonly signal: AbortSignal
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}

/** The events of the log opened it, and show its outcome. */
interface Stored extends Waiter {
  readonly awaited: Awaited
  /** Ends its timer. */
  readonly stop: AbortController
}

interface Armed extends Waiter {
  readonly alarm: Alarm
  readonly stop: AbortController
}

/** Timers cannot be longer than 24 days. */
const longestSleepMs = 3_600_000

/** All that the steps of a run under way wait for. When nothing else is left to do, the run parks. */
export class OpenWaits {
  readonly #parts: OpenWaitsParts
  /** By id. */
  readonly #stored = new Map<string, Stored>()
  readonly #alarms = new Set<Armed>()
  /** Signals that have a listener. */
  #signals: WeakSet<AbortSignal> | null = null
  #stopListening: (() => void) | null = null
  #watching = false
  #parking = false
  #looking: Promise<void> | null = null
  #lookAgain = false

  constructor(parts: OpenWaitsParts) {
    this.#parts = parts
  }

  /** How many questions are open, or how many waits for times and events. */
  open(kind: "asked" | "started"): number {
    return [...this.#stored.values()].filter(({ awaited }) => kind in awaited).length
  }

  /** Resolves when the outcome is known, and the log shows it. Rejects when what waits for it stops. */
  settled(awaited: Awaited, signal: AbortSignal): Promise<void> {
    if (awaited.outcome !== null) return Promise.resolve()
    return this.#wait(signal, (waiter) => {
      const stored = { awaited, ...waiter, stop: new AbortController() }
      this.#stored.set("asked" in awaited ? awaited.asked.id : awaited.started.id, stored)
      this.#listenToStore()
      if ("started" in awaited) this.#endInTime(awaited, stored).catch((error: unknown) => this.#parts.fail(error))
    })
  }

  /**
   * Resolves at the time of the alarm while the run is here. A run that has nothing else to do parks; it is woken at that time, or earlier, and its steps come here
   * again, or find that they need not wait any more. Rejects when what waits stops.
   */
  alarm(alarm: Alarm, signal: AbortSignal): Promise<void> {
    return this.#wait(signal, (waiter) => {
      const armed = { alarm, stop: new AbortController(), ...waiter }
      this.#alarms.add(armed)
      this.#ring(armed).catch((error: unknown) => this.#parts.fail(error))
    })
  }

  close(): void {
    this.#stopListening?.()
    for (const { stop } of [...this.#alarms, ...this.#stored.values()]) stop.abort()
  }

  #wait(signal: AbortSignal, add: (waiter: Waiter) => void): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason as Error)
    return new Promise((resolve, reject) => {
      add({ signal, resolve, reject })
      this.#listen(signal)
      this.#watch()
    })
  }

  async #ring(armed: Armed): Promise<void> {
    const { alarm, stop, resolve } = armed
    if (!(await this.#isTime(alarm.due_at, stop.signal))) return
    if (this.#alarms.delete(armed)) resolve()
  }

  /** Ends a wait for a time while the run is here. An event that comes after the time of its wait is not taken: the store says when that is over. */
  async #endInTime(wait: WaitReplayState, { stop, resolve }: Stored): Promise<void> {
    const { id, until } = wait.started
    if (until === undefined || !(await this.#isTime(Date.parse(until), stop.signal))) return
    if (wait.outcome !== null || !this.#stored.delete(id)) return
    endWait(this.#parts.log, wait, "time", isoTime(this.#parts.clock.now()))
    resolve()
  }

  /** False where the run stops before, or is parked: the process that continues it finds what is due. */
  async #isTime(due_at: number, stop: AbortSignal): Promise<boolean> {
    const { clock } = this.#parts
    try {
      while (clock.now() < due_at) await clock.sleep(Math.min(due_at - clock.now(), longestSleepMs), stop)
    } catch (error) {
      if (stop.aborted) return false
      throw error
    }
    return !this.#parking
  }

  #listen(signal: AbortSignal): void {
    this.#signals ??= new WeakSet()
    if (this.#signals.has(signal)) return
    this.#signals.add(signal)
    signal.addEventListener("abort", () => this.#drop(signal), { once: true })
  }

  #listenToStore(): void {
    if (this.#stopListening !== null) return
    const { store, runId } = this.#parts
    this.#stopListening = store.waits.onOutcome((run_id) => {
      if (run_id === runId) this.#look()
    })
    // Also what was stored before anybody listened.
    this.#look()
  }

  #drop(signal: AbortSignal): void {
    for (const [id, waiter] of this.#stored) {
      if (waiter.signal !== signal) continue
      this.#stored.delete(id)
      waiter.stop.abort()
      waiter.reject(signal.reason)
    }
    for (const armed of this.#alarms) {
      if (armed.signal !== signal) continue
      this.#alarms.delete(armed)
      armed.stop.abort()
      armed.reject(signal.reason)
    }
  }

  #look(): void {
    this.#lookAgain = true
    this.#looking ??= this.#lookNow().finally(() => (this.#looking = null))
  }

  async #lookNow(): Promise<void> {
    const { store, runId, signal } = this.#parts
    while (this.#lookAgain) {
      this.#lookAgain = false
      try {
        const found = await store.waits.outcomes(runId)
        // The process that resumes the run takes them in.
        if (this.#parking || signal.aborted) return
        this.#take(found)
      } catch (error) {
        this.#parts.fail(error)
      }
    }
  }

  #take(stored: readonly WaitOutcome[]): void {
    const { log, redactor, clock } = this.#parts
    for (const id of takeOutcomes(log, redactor.redact, stored, (one) => this.#stored.get(one)?.awaited, clock.now())) {
      const waiter = this.#stored.get(id)
      this.#stored.delete(id)
      waiter?.stop.abort()
      waiter?.resolve()
    }
  }

  #watch(): void {
    if (this.#watching) return
    this.#watching = true
    void this.#parkWhenQuiet().catch((error: unknown) => this.#parts.fail(error))
  }

  get #isWaiting(): boolean {
    return this.#stored.size + this.#alarms.size > 0 && !this.#parts.signal.aborted
  }

  async #parkWhenQuiet(): Promise<void> {
    while (this.#isWaiting) {
      await this.#parts.quiet()
      if (this.#looking !== null) {
        await this.#looking
        continue
      }
      if (!this.#isWaiting) break
      this.#parking = true
      this.#park()
      return
    }
    this.#watching = false
  }

  #park(): void {
    const alarms = new Map<string, Alarm>()
    for (const { alarm } of this.#alarms) {
      const key = `${alarm.kind} ${alarm.id}`
      const same = alarms.get(key)
      if (same === undefined || alarm.due_at < same.due_at) alarms.set(key, alarm)
    }
    const armed = [...alarms.values()]
    const stored = [...this.#stored.values()].map(({ awaited }) => awaited)
    const budget = armed.find(({ kind }) => kind === "budget")
    this.#parts.park(
      {
        questions: stored.flatMap((awaited) => ("asked" in awaited ? [awaited.asked.id] : [])),
        batches: armed.flatMap(({ kind, id }) => (kind === "batch" ? [id] : [])),
        waits: stored.flatMap((awaited) => ("started" in awaited ? [openWait(awaited.started)] : [])),
        ...(budget !== undefined && { budget: { path: budget.id, resets_at: isoTime(budget.due_at) } }),
      },
      armed,
    )
  }
}

function openWait({ expires_at: _expires, ...open }: StartedWait): WaitingFor["waits"][number] {
  return open
}
