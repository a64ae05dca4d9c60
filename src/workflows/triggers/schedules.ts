import type { Calendar } from "../../plan/schedule-times.ts"
import { calendarOf } from "../../plan/schedule-times.ts"
import type { SchedulePlan } from "../../plan/plan-triggers.ts"
import type { Clock } from "../../ports/clock.ts"
import { wrongMs } from "../../ports/store-clock.ts"
import { isStoreTrouble } from "../../ports/store.ts"
import type { RunStatus } from "../../ports/store.ts"
import type {
  LastOutcome,
  TriggerOutcome,
  TriggerPause,
  TriggerState,
  TriggerStore,
} from "../../ports/trigger-store.ts"
import { freshTrigger } from "../../ports/trigger-store.ts"
import type { Started } from "./start-triggered.ts"

/** A schedule of a workflow that is served. */
export interface ServedSchedule {
  readonly workflow: string
  readonly plan: SchedulePlan
}

export interface SchedulePorts {
  readonly clock: Clock
  readonly triggers: TriggerStore
  /** Starts the run of a due time, once however often it is asked for; null for one by hand, which always starts one. */
  start(schedule: ServedSchedule, calendar: Calendar, due: number | null): Promise<Started>
  cancel(run_id: string): Promise<unknown>
  /** Null when there is no such run (any more). */
  status(run_id: string): Promise<RunStatus | null>
  /** Hears of what became of due times, as far as this process decided it. */
  decided(schedule: ServedSchedule, outcome: TriggerOutcome, lagMs: number | null): void
  /** Due times were decided up to this one, which has not come yet: a clock was wrong. They are decided again from now on. */
  tookBack(schedule: ServedSchedule, mark: number): void
  bug(error: unknown): void
}

/** The store's time may be set: it is looked at this often. */
const lookMs = 30_000
/** How long to wait before an admission that failed is tried again. */
const againMs = 2_000
/** Others may be about to start the run of a due time: that long nobody says that it was missed. */
const graceMs = 60_000
/** Older times that were missed are not caught up with. */
const caughtUpMs = 24 * 3_600_000
/** Times that were missed before the last one are counted up to so many: a day of minutes. */
const maxCounted = 1_440

/** One schedule at work, for as long as its cron expression and timezone stay the same. */
interface Working {
  readonly definition: string
  readonly stop: AbortController
  schedule: ServedSchedule
  done: Promise<void>
}

/**
 * Starts the runs of schedules when they are due. Every process that shares the store does this: which of them starts a run is decided by
 * the store, under the key of the due time.
 */
export class Schedules {
  readonly #ports: SchedulePorts
  readonly #working = new Map<string, Working>()
  readonly #ending = new Set<Promise<void>>()
  #stopped = false

  constructor(ports: SchedulePorts) {
    this.#ports = ports
  }

  /** The schedules that are served from now on. */
  serve(schedules: Iterable<ServedSchedule>): void {
    if (this.#stopped) return
    const left = new Set(this.#working.keys())
    for (const schedule of schedules) {
      const id = idOf(schedule.workflow, schedule.plan.name)
      const definition = definitionOf(schedule.plan)
      left.delete(id)
      const before = this.#working.get(id)
      if (before?.definition === definition) before.schedule = schedule
      else {
        if (before !== undefined) this.#end(before)
        this.#begin(id, definition, schedule)
      }
    }
    for (const id of left) {
      const gone = this.#working.get(id)
      this.#working.delete(id)
      if (gone === undefined) continue
      this.#end(gone)
      // A schedule that comes back is a new one.
      this.#track(this.#forget(id))
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const working of this.#working.values()) this.#end(working)
    this.#working.clear()
    await Promise.all(this.#ending)
  }

  /** Starts a schedule now, whatever overlaps. */
  async runNow(schedule: ServedSchedule): Promise<Started> {
    const calendar = calendarFor(schedule.plan)
    const started = await this.#ports.start(schedule, calendar, null)
    if ("error" in started) {
      this.#ports.decided(schedule, "refused", null)
      return started
    }
    this.#ports.decided(schedule, "started", null)
    const last: LastOutcome = { outcome: "started", run_id: started.run_id, due_at: null, error: null }
    await changeTrigger(this.#ports.triggers, idOf(schedule.workflow, schedule.plan.name), (state) => ({
      ...state,
      last,
    }))
    return started
  }

  #begin(id: string, definition: string, schedule: ServedSchedule): void {
    const working: Working = { definition, schedule, stop: new AbortController(), done: Promise.resolve() }
    this.#working.set(id, working)
    working.done = this.#keep(id, working)
    this.#track(working.done)
  }

  #end({ stop }: Working): void {
    stop.abort(new Error("The schedule is no longer served"))
  }

  #track(work: Promise<void>): void {
    const tracked = work.catch((error: unknown) => this.#ports.bug(error)).finally(() => this.#ending.delete(tracked))
    this.#ending.add(tracked)
  }

  async #forget(id: string): Promise<void> {
    try {
      await changeTrigger(this.#ports.triggers, id, (state) => ({ ...state, definition: null, mark: null }))
    } catch (error) {
      if (!isStoreTrouble(error)) throw error
    }
  }

  /** Waits for due times and decides each, until the schedule is no longer served. */
  async #keep(id: string, working: Working): Promise<void> {
    const { clock } = this.#ports
    const { signal } = working.stop
    const calendar = calendarFor(working.schedule.plan)
    const began = clock.monotonic()
    let from: number | null = null
    while (!signal.aborted) {
      try {
        const now = clock.now()
        const since = now - (clock.monotonic() - began)
        if (from !== null && isAhead(from, now)) from = null
        from ??= await this.#firstMark(id, working, now)
        const next = calendar.next(from)
        if (next > now) await clock.sleep(Math.min(next - now, lookMs), signal)
        else from = await this.#decide(id, working, calendar, from, since)
      } catch (error) {
        if (signal.aborted) return
        if (!isStoreTrouble(error)) this.#ports.bug(error)
        await clock.sleep(againMs, signal).catch(() => undefined)
      }
    }
  }

  /** Up to where due times have been decided: from now on for a schedule that is new or was changed, or whose mark a wrong clock has made. */
  async #firstMark(id: string, { definition, schedule }: Working, now: number): Promise<number> {
    let wrong: number | null = null
    const state = await changeTrigger(this.#ports.triggers, id, (state) => {
      const mark = state.definition === definition ? state.mark : null
      wrong = mark !== null && isAhead(mark, now) ? mark : null
      return mark !== null && wrong === null ? null : { ...state, definition, mark: now }
    })
    if (wrong !== null) this.#ports.tookBack(schedule, wrong)
    return state.mark ?? now
  }

  /** Decides the last of the times that are due; the result is the new mark. */
  async #decide(id: string, working: Working, calendar: Calendar, from: number, since: number): Promise<number> {
    const { clock, triggers } = this.#ports
    const now = clock.now()
    const due = calendar.last(from, now) ?? from
    const pause = await triggers.pause(id)
    if (isHeld(pause, due, now)) return due
    const { state } = (await triggers.read(id)) ?? { state: freshTrigger }
    const isOwn = state.definition === working.definition
    if (isOwn && state.mark !== null && state.mark > from && !isAhead(state.mark, now)) return state.mark
    const settle = (last: Omit<LastOutcome, "due_at">, isNew?: boolean): Promise<number> => {
      const missed = countBetween(calendar, Math.max(from, pause?.at ?? from), due)
      return this.#settle(id, working, { ...last, due_at: due }, missed, isNew)
    }
    const { plan } = working.schedule
    const late = now - due
    // A due time that came while this process ran is started, however short the time was.
    const isMissed = due <= since || late > graceMs
    if (isMissed && plan.catch_up === "none") {
      if (late < graceMs) {
        await clock.sleep(graceMs - late, working.stop.signal)
        return from
      }
      return settle({ outcome: "missed", run_id: null, error: null })
    }
    if (isMissed && late >= caughtUpMs) return settle({ outcome: "missed", run_id: null, error: null })
    if (state.previous !== null && plan.overlap !== "allow" && isOpen(await this.#ports.status(state.previous))) {
      if (plan.overlap === "skip") return settle({ outcome: "skipped", run_id: null, error: null })
      await this.#ports.cancel(state.previous)
    }
    return this.#start(id, working, calendar, due, settle)
  }

  /** Starts the run of a due time. At capacity it is tried again until the next one. */
  async #start(
    id: string,
    working: Working,
    calendar: Calendar,
    due: number,
    settle: (last: Omit<LastOutcome, "due_at">, isNew?: boolean) => Promise<number>,
  ): Promise<number> {
    const { clock, triggers } = this.#ports
    const next = calendar.next(due)
    for (;;) {
      const started = await this.#ports.start(working.schedule, calendar, due)
      if (!("error" in started)) {
        return settle({ outcome: "started", run_id: started.run_id, error: null }, started.isNew)
      }
      const { error } = started
      if (error.kind !== "overloaded") return settle({ outcome: "refused", run_id: null, error })
      if (clock.now() + againMs >= next) return settle({ outcome: "missed", run_id: null, error })
      await clock.sleep(againMs, working.stop.signal)
      if (isHeld(await triggers.pause(id), due, clock.now())) return due
    }
  }

  /**
   * Advances the mark. Another process may have done so: then its word stands, unless this one has started the run. `missed` counts the due
   * times before this one that nothing became of.
   */
  async #settle(
    id: string,
    working: Working,
    last: LastOutcome & { readonly due_at: number },
    missed: number,
    isNew?: boolean,
  ): Promise<number> {
    const { clock, triggers } = this.#ports
    const due = last.due_at
    let isOurs = false
    let wrong: number | null = null
    await changeTrigger(triggers, id, (state) => {
      const isOwn = state.definition === working.definition
      wrong = isOwn && state.mark !== null && isAhead(state.mark, clock.now()) ? state.mark : null
      const isDecided = isOwn && state.mark !== null && state.mark >= due && wrong === null
      isOurs = !isDecided
      const isCorrected = isDecided && isNew === true && state.last?.due_at === due && state.last.run_id !== last.run_id
      if (isDecided && !isCorrected) return null
      const mark = isOwn ? (wrong === null ? Math.max(state.mark ?? due, due) : due) : state.mark
      return { ...state, mark, last, previous: last.run_id ?? state.previous }
    })
    if (wrong !== null) this.#ports.tookBack(working.schedule, wrong)
    const isCounted = isNew ?? isOurs
    const lag = last.outcome === "started" ? clock.now() - due : null
    if (isCounted) this.#ports.decided(working.schedule, last.outcome, lag)
    if (isOurs) for (let count = 0; count < missed; count++) this.#ports.decided(working.schedule, "missed", null)
    return due
  }
}

/** A due time is nobody's while the schedule is paused, and what was due until it was resumed is not caught up with. */
function isHeld(pause: TriggerPause | null, due: number, now: number): boolean {
  return pause !== null && (pause.paused || (pause.at >= due && !isAhead(pause.at, now)))
}

/** A time that cannot have come yet, whichever process has written it: its clock was wrong. */
function isAhead(at: number, now: number): boolean {
  return at > now + wrongMs
}

/** The due times between two instants, without either. */
function countBetween(calendar: Calendar, after: number, before: number): number {
  let count = 0
  for (let at = calendar.next(after); at < before && count < maxCounted; at = calendar.next(at)) count++
  return count
}

/** The key under which a schedule or webhook is stored. */
export function idOf(workflow: string, name: string): string {
  return `${workflow} ${name}`
}

/** Changes what is remembered of a trigger; null leaves it as it is. The result is what is remembered then. */
export async function changeTrigger(
  triggers: TriggerStore,
  id: string,
  change: (state: TriggerState) => TriggerState | null,
): Promise<TriggerState> {
  for (;;) {
    const stored = await triggers.read(id)
    const state = stored?.state ?? freshTrigger
    const changed = change(state)
    if (changed === null) return state
    if (await triggers.write(id, changed, stored?.revision ?? null)) return changed
  }
}

export function calendarFor({ cron, timezone }: SchedulePlan): Calendar {
  const calendar = calendarOf(cron, timezone)
  if (calendar === undefined) throw new Error(`The checker let the schedule "${cron}" in ${timezone} through`)
  return calendar
}

function definitionOf({ cron, timezone }: SchedulePlan): string {
  return `${cron} ${timezone}`
}

export function isOpen(status: RunStatus | null): boolean {
  return status === "queued" || status === "running" || status === "waiting" || status === "cancelling"
}
