import { loopTurns } from "../../src/event-loop/loop-turns.ts"
import type { Clock } from "../../src/ports/clock.ts"
import { Random } from "../support/random.ts"

// Virtual time. Everything that happens is an entry of one queue, ordered by time and then by the order in which it was scheduled. Between two
// entries the JavaScript that they woke runs until nothing of it is left, so that one seed gives one history on every machine.

interface Entry {
  readonly at: number
  readonly order: number
  /** The actor; null for the world itself. */
  readonly machine: Machine | null
  readonly act: () => void
  cancelled: boolean
}

/** A process as the world sees it: it runs, stands still, or is dead. */
export interface Machine {
  readonly name: string
  state: "running" | "paused" | "dead"
  /** What would have woken it while it stood still. */
  readonly missed: Entry[]
  /** Burns down with each thing that wakes the process; in place of the last one, the process dies or stands still. */
  fuse?: { left: number; readonly blow: () => void }
}

const realImmediate = globalThis.setImmediate
/** What the engine has put off with `setImmediate`. */
let immediates: (() => void)[] = []

function virtualImmediate<A extends unknown[]>(act: (...values: A) => void, ...values: A): void {
  immediates.push(() => act(...values))
}

/**
 * Node's own way to run what is ready between two callbacks: ticks, promises, and the report of rejections that nobody handles. A real turn of the
 * event loop for every entry would take most of the time of a history.
 */
const runReady = (process as unknown as { readonly _tickCallback: (this: void) => void })._tickCallback

/** Runs all JavaScript that is ready, until nothing of it is left. */
function settle(): void {
  runReady()
  while (immediates.length > 0) {
    const turn = immediates
    immediates = []
    for (const act of turn) {
      act()
      runReady()
    }
  }
}

/**
 * Calls `work` where `settle` works, which is outside of all promises, and with `setImmediate` in virtual time. A turn that a real store has scheduled
 * (what the history before this one left to do) is over by then: in virtual time it would never come.
 */
function outsidePromises<T>(work: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    realImmediate(function begin() {
      if (!loopTurns.isIdle) {
        realImmediate(begin)
        return
      }
      globalThis.setImmediate = virtualImmediate as unknown as typeof setImmediate
      try {
        resolve(work())
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)))
      } finally {
        globalThis.setImmediate = realImmediate
      }
    })
  })
}

export class World {
  readonly random: Random
  /** How often what happened in this history. */
  readonly counts = new Map<string, number>()
  readonly #queue: Entry[] = []
  readonly #notes: { readonly at: number; readonly line: string | (() => string) }[] = []
  #now = 0
  #order = 0

  constructor(seed: number) {
    this.random = new Random(seed)
  }

  get now(): number {
    return this.#now
  }

  /** A line of the diary. Give a function where the text takes work: nobody reads the diary of a history that went well. */
  note(line: string | (() => string)): void {
    this.#notes.push({ at: this.#now, line })
  }

  /** One line for each thing that happened, for the report of a failure. */
  get diary(): string[] {
    return this.#notes.map(({ at, line }) => `${at.toFixed(0).padStart(8)} ${typeof line === "string" ? line : line()}`)
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }

  /** The result takes it back. */
  after(ms: number, machine: Machine | null, act: () => void): () => void {
    const entry = { at: this.#now + Math.max(0, ms), order: this.#order++, machine, act, cancelled: false }
    this.#push(entry)
    return () => (entry.cancelled = true)
  }

  /** Until the time is over, or rejects when the signal is aborted. */
  sleep(ms: number, machine: Machine | null, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error)
      const sleepers = sleepersOf(signal)
      const stop = (): void => {
        cancel()
        reject(signal.reason as Error)
      }
      const cancel = this.after(ms, machine, () => {
        sleepers.delete(stop)
        resolve()
      })
      sleepers.add(stop)
    })
  }

  pause(machine: Machine): void {
    if (machine.state === "running") machine.state = "paused"
  }

  wake(machine: Machine): void {
    if (machine.state !== "paused") return
    machine.state = "running"
    for (const entry of machine.missed.splice(0)) this.#push({ ...entry, at: this.#now, order: this.#order++ })
  }

  kill(machine: Machine): void {
    machine.state = "dead"
    machine.missed.length = 0
  }

  /** Lets things happen until the queue is empty, `until` holds, or the time is over. False: the time is over. */
  run(maxMs: number, until: () => boolean): Promise<boolean> {
    return outsidePromises(() => this.#run(this.#now + maxMs, until))
  }

  #run(end: number, until: () => boolean): boolean {
    settle()
    while (!until()) {
      const entry = this.#pop()
      if (entry === undefined) return until()
      if (entry.at > end) {
        this.#push(entry)
        this.#now = end
        return false
      }
      this.#now = entry.at
      if (entry.cancelled || entry.machine?.state === "dead") continue
      if (standsStill(entry.machine)) {
        entry.machine?.missed.push(entry)
        continue
      }
      const fuse = entry.machine?.fuse
      if (fuse !== undefined && --fuse.left === 0) {
        fuse.blow()
        if (standsStill(entry.machine)) entry.machine?.missed.push(entry)
      } else entry.act()
      settle()
    }
    return true
  }

  #push(entry: Entry): void {
    const queue = this.#queue
    let at = queue.length
    queue.push(entry)
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = queue[parent]
      if (above === undefined || !before(entry, above)) break
      queue[at] = above
      at = parent
    }
    queue[at] = entry
  }

  #pop(): Entry | undefined {
    const queue = this.#queue
    const first = queue[0]
    const last = queue.pop()
    if (first === undefined || last === undefined || queue.length === 0) return first
    let at = 0
    for (;;) {
      const left = at * 2 + 1
      const a = queue[left]
      const b = queue[left + 1]
      if (a === undefined) break
      const [child, index] = b !== undefined && before(b, a) ? [b, left + 1] : [a, left]
      if (!before(child, last)) break
      queue[at] = child
      at = index
    }
    queue[at] = last
    return first
  }
}

const sleepersBySignal = new WeakMap<AbortSignal, Set<() => void>>()

/** Whom the signal wakes. One listener for all sleeps of a loop: adding one for each takes longer than the sleep itself. */
function sleepersOf(signal: AbortSignal): Set<() => void> {
  const found = sleepersBySignal.get(signal)
  if (found !== undefined) return found
  const sleepers = new Set<() => void>()
  sleepersBySignal.set(signal, sleepers)
  signal.addEventListener(
    "abort",
    () => {
      for (const stop of sleepers) stop()
    },
    { once: true },
  )
  return sleepers
}

function standsStill(machine: Machine | null): boolean {
  return machine?.state === "paused"
}

function before(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

/** When histories begin. */
export const epoch = Date.UTC(2026, 10, 15)

/** The clock of one machine. Its wall clock may be wrong, and may be set; its monotonic clock is right. */
export class WorldClock implements Clock {
  readonly #world: World
  readonly #machine: Machine | null
  offset_ms: number

  constructor(world: World, machine: Machine | null, offset_ms = 0) {
    this.#world = world
    this.#machine = machine
    this.offset_ms = offset_ms
  }

  now(): number {
    return Math.round(epoch + this.#world.now + this.offset_ms)
  }

  monotonic(): number {
    return this.#world.now
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.#world.sleep(ms, this.#machine, signal)
  }
}
