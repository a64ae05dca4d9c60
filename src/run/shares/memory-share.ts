import { Tally } from "../../base/tally.ts"
import type { Arrivals, Waits } from "../../ports/egress.ts"
import { RunArrival, WaitingArrivals, type ArrivalQueue } from "./waiting-arrivals.ts"

/** What the runs of a process may keep in memory together. */
export interface MemoryBounds {
  /** Bytes of all runs, and of all runs of one caller. */
  readonly all: number
  readonly perCaller: number
  /** Bytes that each run may keep, however much the others do. */
  readonly perRun: number
}

const unboundedMemory: MemoryBounds = { all: Infinity, perCaller: Infinity, perRun: Infinity }

/** At this many times the bytes of all, runs are refused that have less than their equal part, too. */
const hardLimit = 2

/**
 * Counts what the runs of this process keep: their requests, values and conversations. Each run has a limit of its own, but hundreds
 * that keep to it would still take more memory than the process has. Where the bytes of all are used up, callers that have less than an
 * equal part of them go on, and the others do not; the same holds for the runs of a caller.
 */
export class MemoryShare {
  readonly #bounds: MemoryBounds
  readonly #callers = new Tally()
  readonly #arrivals: WaitingArrivals
  /** Runs that answers are arriving for, by caller. */
  readonly #receiving = new Tally()
  #all = 0

  constructor(bounds: MemoryBounds = unboundedMemory) {
    this.#bounds = bounds
    this.#arrivals = new WaitingArrivals()
  }

  /** Begins to count for a run of this caller. */
  open(caller: string): RunMemory {
    return new RunMemory(this.#bounds, (bytes) => this.#add(caller, bytes), {
      waiting: this.#arrivals,
      caller,
      hasRoom: (kept) => this.#hasRoom(caller, kept),
      receiving: (count) => this.#receiving.add(caller, count),
    })
  }

  /** Whether an answer can arrive for a run that keeps so much. Half of the bytes are for answers. */
  #hasRoom(caller: string, kept: number): boolean {
    const { all, perCaller } = this.#bounds
    const equalPart = this.#all > all / 2 ? all / 2 / Math.max(1, this.#receiving.size) : Infinity
    const ofCaller = Math.min(perCaller / 2, equalPart)
    return this.#callers.of(caller) <= ofCaller || kept <= ofCaller / Math.max(1, this.#receiving.of(caller))
  }

  /** Why a new run that begins with this many bytes has no room; null where it has. */
  whyFull(caller: string, bytes: number): "all" | "caller" | null {
    if (bytes <= this.#bounds.perRun) return null
    return this.#over(caller, bytes)
  }

  #add(caller: string, bytes: number): "all" | "caller" | null {
    this.#all += bytes
    this.#callers.add(caller, bytes)
    if (bytes < 0) this.#arrivals.lookSoon()
    return this.#over(caller, 0)
  }

  #over(caller: string, more: number): "all" | "caller" | null {
    const { all, perCaller } = this.#bounds
    const before = this.#callers.of(caller)
    const own = before + more
    if (own > perCaller) return "caller"
    const sum = this.#all + more
    const equalPart = all / (this.#callers.size + (before > 0 ? 0 : 1))
    return sum > hardLimit * all || (sum > all && own > equalPart) ? "all" : null
  }
}

interface RunQueue extends ArrivalQueue {
  hasRoom(kept: number): boolean
  /** Answers begin to arrive for the run (1), or no more of them do (-1). */
  receiving(count: 1 | -1): void
}

/** What one run keeps. */
export class RunMemory {
  readonly #bounds: MemoryBounds
  readonly #report: (bytes: number) => "all" | "caller" | null
  readonly #queue: RunQueue
  #kept = 0
  #arriving = 0
  /** Bytes that the run may keep, answers that are arriving included. */
  #most = Number.POSITIVE_INFINITY

  constructor(bounds: MemoryBounds, report: (bytes: number) => "all" | "caller" | null, queue: RunQueue) {
    this.#bounds = bounds
    this.#report = report
    this.#queue = queue
  }

  /** Counts answers that are arriving. They wait where the run has half of these bytes, or all runs half of theirs: the rest is for what is kept. */
  arrivals(most: number): Arrivals {
    this.#most = most
    return { open: (signal, waited) => this.#open(signal, waited) }
  }

  #open(signal: AbortSignal, waited: Waits | undefined): RunArrival {
    if (this.#arriving++ === 0) this.#queue.receiving(1)
    return new RunArrival(this, this.#queue, signal, waited)
  }

  arrived(): void {
    if (--this.#arriving === 0) this.#queue.receiving(-1)
  }

  get hasRoom(): boolean {
    const kept = this.#kept
    return kept <= this.#most / 2 && (kept <= this.#bounds.perRun || this.#queue.hasRoom(kept))
  }

  /** Counts more. False where the run keeps more than it surely may, and the runs together keep too much. */
  add(bytes: number): boolean {
    this.#kept += bytes
    const over = this.#report(bytes)
    return over === null || this.#kept <= this.#bounds.perRun
  }

  remove(bytes: number): void {
    this.#kept -= bytes
    this.#report(-bytes)
  }

  /** The run is over. */
  close(): void {
    this.remove(this.#kept)
  }
}
