import { createHmac, randomBytes } from "node:crypto"
import type { EventData } from "../../log/events.ts"
import type { RatePlan } from "../../plan/plan-shape.ts"
import type { Clock } from "../../ports/clock.ts"
import type { Backend, PacedCall } from "../../ports/model.ts"
import type { RateList } from "./rate-list.ts"
import { RateWindow } from "./rate-window.ts"

/** Why a call waits: for one of the numbers of a rate, or because its backend asked for a pause. */
export type RateReason = EventData["model_call_waiting"]["because"]

/** A model call that wants to be made. */
export interface CallToPace {
  readonly caller: string
  readonly run_id: string
  /** Named workflows share their rates with everyone; source that a caller sent has rates for that caller alone. */
  readonly workflow: string | null
  readonly provider: { readonly name: string; readonly kind: string; readonly rate: RatePlan | null }
  readonly backend: Backend
  /** The most tokens that it may use. Asked only where a rate counts tokens. */
  readonly tokens: () => number
  /** Called once, when the call has waited for five seconds. */
  readonly waits: (because: RateReason) => void
  readonly signal: AbortSignal
}

export interface RateOptions {
  /** The operator's rates. */
  readonly list?: RateList | null
  /** How many processes share the rates. */
  readonly processes?: () => number
  /** Called when a call has waited. */
  readonly waited?: (kind: string, host: string, ms: number) => void
}

/** A wait that lasts so long becomes an event. */
const eventAfterMs = 5_000
/** The longest pause that a backend gets. */
const maxPauseMs = 60_000
const firstPauseMs = 500
const statedProbeMs = 1_000
/** Rates of a workflow that no call has named for so long are forgotten. */
const statedForMs = 600_000
/** Backends that are remembered, beyond those that calls use or wait for. */
const maxIdle = 1_000

/** All calls of one endpoint with the same credentials. */
interface Line {
  readonly key: string
  readonly host: string
  readonly everyone: StatedRates
  readonly callers: Map<string, StatedRates>
  pausedUntil: number
  /** Pauses in a row whose length the backend did not say, and when the last pause of any kind began. */
  strikes: number
  struckAt: number
  /** After a pause one call goes ahead, and the next one after so long, until one of them is not refused. 0: all go. */
  probeMs: number
  /** Calls under way or waiting. */
  inUse: number
}

/** The rates that workflows state for the same calls. The smallest of each number counts. */
class StatedRates {
  readonly window: RateWindow
  readonly #clock: Clock
  readonly #stated = new Map<string, { readonly rate: RatePlan; at: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.window = new RateWindow(clock)
  }

  state(by: string, rate: RatePlan): void {
    const known = this.#stated.get(by)
    if (known?.rate === rate) known.at = this.#clock.monotonic()
    else {
      this.#stated.set(by, { rate, at: this.#clock.monotonic() })
      this.#apply()
    }
  }

  /** Forgets what nobody has stated for a while. */
  refresh(): void {
    const before = this.#clock.monotonic() - statedForMs
    const old = [...this.#stated].filter(([, { at }]) => at < before)
    if (old.length === 0) return
    for (const [by] of old) this.#stated.delete(by)
    this.#apply()
  }

  get isEmpty(): boolean {
    return this.#stated.size === 0 && this.window.isIdle
  }

  #apply(): void {
    const least = (of: (rate: RatePlan) => number | undefined): number | undefined => {
      const all = [...this.#stated.values()].flatMap(({ rate }) => of(rate) ?? [])
      return all.length === 0 ? undefined : Math.min(...all)
    }
    const requests = least((rate) => rate.requests_per_minute)
    const tokens = least((rate) => rate.tokens_per_minute)
    const concurrency = least((rate) => rate.concurrency)
    this.window.rate = {
      ...(requests !== undefined && { requests_per_minute: requests }),
      ...(tokens !== undefined && { tokens_per_minute: tokens }),
      ...(concurrency !== undefined && { concurrency }),
    }
  }
}

interface Waiter {
  readonly call: CallToPace
  readonly line: Line
  readonly since: number
  because: RateReason
  admit(): void
}

/**
 * Paces the model calls of all runs of this process. A call that would exceed a rate waits for its turn: callers take turns, and the runs of a
 * caller do. A backend that asks for a pause gets it from every run that calls it with the same credentials.
 */
export class Rates {
  readonly #clock: Clock
  readonly #secret = randomBytes(32)
  readonly #options: RateOptions
  readonly #operator = new Map<string, RateWindow>()
  readonly #lines = new Map<string, Line>()
  readonly #keys = new WeakMap<Backend, string>()
  /** By caller, then by run; those whose turn is next come first. */
  readonly #waiting = new Map<string, Map<string, Waiter[]>>()
  #count = 0
  #alarm: { readonly at: number; readonly stop: AbortController } | null = null

  constructor(clock: Clock, options: RateOptions = {}) {
    this.#clock = clock
    this.#options = options
    for (const [prefix, rate] of options.list?.entries ?? []) {
      const window = new RateWindow(clock)
      window.rate = rate
      this.#operator.set(prefix, window)
    }
  }

  /** Waiting calls, by kind of provider and host. */
  waiting(): { readonly kind: string; readonly host: string; readonly count: number }[] {
    const counts = new Map<string, { kind: string; host: string; count: number }>()
    for (const { call, line } of this.#waiters()) {
      const { kind } = call.provider
      const key = `${kind} ${line.host}`
      const known = counts.get(key)
      if (known === undefined) counts.set(key, { kind, host: line.host, count: 1 })
      else known.count++
    }
    return [...counts.values()]
  }

  /** A promise only where the call has to wait. Rejects with the signal's reason when that aborts first. */
  enter(call: CallToPace): PacedCall | Promise<PacedCall> {
    const line = this.#lineOf(call)
    line.inUse++
    const waiter: Waiter = { call, line, since: this.#clock.monotonic(), because: "backend", admit: () => undefined }
    // A newcomer overtakes nobody who waits for the same.
    if (this.#blocked(waiter, new Set()) === null && !this.#isBehind(waiter, this.#wanted())) return this.#admit(waiter)
    return this.#wait(waiter)
  }

  async #wait(waiter: Waiter): Promise<PacedCall> {
    const { call, line } = waiter
    const { signal } = call
    const done = new AbortController()
    try {
      signal.throwIfAborted()
      const admitted = new Promise<PacedCall>((resolve, reject) => {
        waiter.admit = () => resolve(this.#admit(waiter))
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true, signal: done.signal })
      })
      this.#add(waiter)
      this.#clock.sleep(eventAfterMs, done.signal).then(
        () => call.waits(waiter.because),
        () => undefined,
      )
      this.#serve()
      return await admitted
    } catch (error) {
      this.#remove(waiter)
      line.inUse--
      this.#serve()
      throw error
    } finally {
      done.abort(new Error("The wait is over"))
      this.#options.waited?.(call.provider.kind, line.host, this.#clock.monotonic() - waiter.since)
    }
  }

  #admit(waiter: Waiter): PacedCall {
    const { call, line } = waiter
    const entries = this.#windows(waiter).map((window) => window.begin(call.tokens))
    const began = this.#clock.monotonic()
    if (line.probeMs > 0) line.pausedUntil = began + line.probeMs
    let over = false
    /** When the pause before its own began. */
    let struckBefore: number | null = null
    return {
      holdBack: (ms) => {
        struckBefore = line.struckAt
        this.#pause(line, ms, began)
      },
      ended: (tokens, answered) => {
        if (over) return
        over = true
        line.inUse--
        // An answer to a call that began before the last refusal says nothing about the time after it.
        if (began > (struckBefore ?? line.struckAt)) {
          if (answered) line.strikes = 0
          if (line.probeMs > 0 && struckBefore === null) line.pausedUntil = 0
          // An answer with which nothing is left asks for a pause, too, and is no refusal.
          if (answered || struckBefore === null) line.probeMs = 0
        }
        for (const entry of entries) entry.end(tokens)
        if (this.#count > 0) this.#serve()
      },
    }
  }

  /**
   * Without the backend's own word the pause doubles with each refusal, and everyone shares it. Calls that were under way together are refused together: that counts
   * as one.
   */
  #pause(line: Line, ms: number | null, began: number): void {
    const now = this.#clock.monotonic()
    if (ms === null && began < line.struckAt) return
    line.struckAt = now
    const pauseMs = Math.min(ms ?? firstPauseMs * 2 ** Math.min(line.strikes++, 7), maxPauseMs)
    // The backend's own word is mostly right: then the others follow soon.
    line.probeMs = ms === null ? pauseMs : Math.min(pauseMs, statedProbeMs)
    line.pausedUntil = Math.max(line.pausedUntil, now + pauseMs)
  }

  /** Lets in all whose turn it is, and sleeps until the next may go. */
  #serve(): void {
    const full = new Set<object>()
    let next = Number.POSITIVE_INFINITY
    for (let turn = this.#nextTurn(full); turn !== null; turn = this.#nextTurn(full)) {
      next = Math.min(next, turn.next)
      turn.admitted?.admit()
    }
    this.#wakeAt(next)
  }

  /** One pass over the first call of each run: the first that fits is taken off its line. Null once none is left to look at. */
  #nextTurn(full: Set<object>): { readonly admitted: Waiter | null; readonly next: number } | null {
    let next = Number.POSITIVE_INFINITY
    let looked = false
    for (const [caller, runs] of this.#waiting) {
      for (const [run, [first]] of runs) {
        if (first === undefined || this.#isBehind(first, full)) continue
        looked = true
        const at = this.#blocked(first, full)
        if (at !== null) {
          next = Math.min(next, at)
          continue
        }
        this.#remove(first)
        toEnd(this.#waiting, caller)
        toEnd(runs, run)
        return { admitted: first, next }
      }
    }
    return looked ? { admitted: null, next } : null
  }

  #isBehind(waiter: Waiter, full: ReadonlySet<object>): boolean {
    return full.size > 0 && (full.has(waiter.line) || this.#windows(waiter).some((window) => full.has(window)))
  }

  /** When the call may be made, as far as that is known; null: now. What it waits for holds up those behind it. */
  #blocked(waiter: Waiter, full: Set<object>): number | null {
    const { line, call } = waiter
    const now = this.#clock.monotonic()
    const processes = this.#options.processes?.() ?? 1
    let at: number | null = null
    const waitFor = (what: object, because: RateReason, until: number): void => {
      if (at === null) waiter.because = because
      at = Math.max(at ?? 0, until)
      full.add(what)
    }
    if (line.pausedUntil > now) waitFor(line, "backend", line.pausedUntil)
    for (const window of this.#windows(waiter)) {
      const lack = window.lacks(call.tokens, processes)
      if (lack !== null) waitFor(window, lack.because, lack.at)
    }
    return at
  }

  /** The windows that the call counts in. */
  #windows({ line, call }: Waiter): RateWindow[] {
    const found: RateWindow[] = []
    if (line.everyone.window.isUsed) found.push(line.everyone.window)
    const own = line.callers.get(call.caller)?.window
    if (own?.isUsed === true) found.push(own)
    const prefix = this.#options.list?.prefixOf(call.backend.endpoint)
    const operator = prefix === undefined ? undefined : this.#operator.get(prefix)
    if (operator !== undefined) found.push(operator)
    return found
  }

  /** What the first calls of all runs wait for. */
  #wanted(): ReadonlySet<object> {
    const wanted = new Set<object>()
    for (const runs of this.#waiting.values()) {
      for (const [first] of runs.values()) if (first !== undefined) this.#blocked(first, wanted)
    }
    return wanted
  }

  *#waiters(): Iterable<Waiter> {
    for (const runs of this.#waiting.values()) for (const waiters of runs.values()) yield* waiters
  }

  #add(waiter: Waiter): void {
    const { caller, run_id } = waiter.call
    const runs = this.#waiting.get(caller) ?? new Map<string, Waiter[]>()
    const line = runs.get(run_id) ?? []
    line.push(waiter)
    runs.set(run_id, line)
    this.#waiting.set(caller, runs)
    this.#count++
  }

  #remove(waiter: Waiter): void {
    const { caller, run_id } = waiter.call
    const runs = this.#waiting.get(caller)
    const line = runs?.get(run_id)
    const at = line?.indexOf(waiter) ?? -1
    if (runs === undefined || line === undefined || at < 0) return
    line.splice(at, 1)
    this.#count--
    if (line.length === 0) runs.delete(run_id)
    if (runs.size === 0) this.#waiting.delete(caller)
  }

  #wakeAt(at: number): void {
    if (this.#count === 0 || at === Number.POSITIVE_INFINITY) return
    if (this.#alarm !== null) {
      if (this.#alarm.at <= at) return
      this.#alarm.stop.abort(new Error("An earlier time has come up"))
    }
    const alarm = { at, stop: new AbortController() }
    this.#alarm = alarm
    const ring = (): void => {
      if (this.#alarm === alarm) this.#alarm = null
      this.#serve()
    }
    this.#clock.sleep(Math.max(1, at - this.#clock.monotonic()), alarm.stop.signal).then(ring, () => undefined)
  }

  #lineOf({ backend, provider, workflow, caller }: CallToPace): Line {
    const key = this.#keyOf(backend)
    const line = this.#lines.get(key) ?? this.#newLine(key, backend)
    line.everyone.refresh()
    const { rate, name } = provider
    if (rate === null) return line
    if (workflow !== null) line.everyone.state(`${workflow} ${name}`, rate)
    else {
      const own = line.callers.get(caller) ?? new StatedRates(this.#clock)
      own.refresh()
      own.state(name, rate)
      line.callers.set(caller, own)
    }
    return line
  }

  #newLine(key: string, { endpoint }: Backend): Line {
    if (this.#lines.size >= maxIdle) this.#forgetIdle()
    const line: Line = {
      key,
      host: URL.parse(endpoint)?.host ?? endpoint,
      everyone: new StatedRates(this.#clock),
      callers: new Map(),
      pausedUntil: 0,
      strikes: 0,
      struckAt: Number.NEGATIVE_INFINITY,
      probeMs: 0,
      inUse: 0,
    }
    this.#lines.set(key, line)
    return line
  }

  #forgetIdle(): void {
    const now = this.#clock.monotonic()
    for (const line of this.#lines.values()) {
      const all = [line.everyone, ...line.callers.values()]
      for (const one of all) one.refresh()
      if (line.inUse === 0 && line.pausedUntil <= now && all.every(({ isEmpty }) => isEmpty))
        this.#lines.delete(line.key)
    }
  }

  /** Endpoint and credentials as one text that holds no secret. */
  #keyOf(backend: Backend): string {
    let key = this.#keys.get(backend)
    if (key === undefined) {
      const { endpoint, api_key, headers } = backend
      const facts = JSON.stringify([
        endpoint,
        api_key,
        Object.entries(headers).toSorted(([a], [b]) => (a < b ? -1 : 1)),
      ])
      key = createHmac("sha256", this.#secret).update(facts).digest("base64")
      this.#keys.set(backend, key)
    }
    return key
  }
}

function toEnd<T>(map: Map<string, T>, key: string): void {
  const value = map.get(key)
  if (value === undefined) return
  map.delete(key)
  map.set(key, value)
}
