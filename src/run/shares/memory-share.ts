import { Tally } from "../../base/tally.ts"
import type { Arrivals } from "../../ports/egress.ts"
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

/**
 * Counts what the runs of this process keep: their requests, values and conversations. Each run has a limit of its own, but hundreds
 * that keep to it would still take more memory than the process has.
 */
export class MemoryShare {
  readonly #bounds: MemoryBounds
  readonly #callers = new Tally()
  readonly #arrivals: WaitingArrivals
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
      isHalfFull: () => this.#all > this.#bounds.all / 2 || this.#callers.of(caller) > this.#bounds.perCaller / 2,
    })
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
    if (this.#callers.of(caller) + more > perCaller) return "caller"
    return this.#all + more > all ? "all" : null
  }
}

/** What one run keeps. */
export class RunMemory {
  readonly #bounds: MemoryBounds
  readonly #report: (bytes: number) => "all" | "caller" | null
  readonly #queue: ArrivalQueue & { isHalfFull(): boolean }
  #kept = 0
  /** Bytes that the run may keep, answers that are arriving included. */
  #most = Number.POSITIVE_INFINITY

  constructor(
    bounds: MemoryBounds,
    report: (bytes: number) => "all" | "caller" | null,
    queue: ArrivalQueue & { isHalfFull(): boolean },
  ) {
    this.#bounds = bounds
    this.#report = report
    this.#queue = queue
  }

  /** Counts answers that are arriving. They wait where the run has half of these bytes, or all runs half of theirs: the rest is for what is kept. */
  arrivals(most: number): Arrivals {
    this.#most = most
    return { open: (signal) => new RunArrival(this, this.#queue, signal) }
  }

  get hasRoom(): boolean {
    return this.#kept <= this.#most / 2 && (this.#kept <= this.#bounds.perRun || !this.#queue.isHalfFull())
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
