import { FairQueue } from "../base/fair-queue.ts"
import { Tally } from "../base/tally.ts"

export interface RunSlotLimits {
  /** Most runs at once, and most that wait for their turn. */
  readonly maxRuns: number
  readonly maxQueued: number
  /** Most runs at once of one share, which also gets the same part of those that wait. */
  readonly perTenant: number
}

/** Which limit is reached: that of all runs, or that of the share. */
export type Full = "all" | "share"

/** Who has a place: a run enters, begins at once or waits for its turn, ends, and leaves. */
export interface RunSlots {
  /** Why one more of this share would be refused, as far as that is known without asking anyone. */
  whyFull(tenant: string): Full | null
  /** Takes a place, to run or to wait in. Null: it is taken. */
  enter(tenant: string): Full | null | Promise<Full | null>
  /** Gives back the place of a run that entered and that there will not be. */
  abandon(tenant: string): void
  /** Takes a place for a run that was admitted before: it is never refused. */
  takeUp(tenant: string): void
  leave(tenant: string): void
  /** Whether one more of this share may run: it does from now on. */
  begin(tenant: string): boolean
  /** One more of this share runs, for a moment, whether or not there is room. */
  beginAnyway(tenant: string): void
  end(tenant: string): void
  /** `begin` is called when its turn has come; it runs from then on. Those that are `woken` come before all others. */
  wait(run_id: string, tenant: string, woken: boolean, begin: () => void): void
  /** It waits no longer. */
  unwait(run_id: string): void
  /** Has the next one begin that may. False: there is none. */
  next(): boolean
  /** How many more runs this process may begin or take up now. */
  free(): number
}

/** Most runs of one share that run or wait. */
export function maxOfTenant({ maxRuns, maxQueued, perTenant }: RunSlotLimits): number {
  return perTenant + Math.ceil((maxQueued * perTenant) / maxRuns)
}

/** The places of one process. */
export class OwnRunSlots implements RunSlots {
  readonly #limits: RunSlotLimits
  readonly #most: number
  readonly #queue = new FairQueue<() => void>()
  /** Runs that people have answered. */
  readonly #wokenQueue = new FairQueue<() => void>()
  #entered = 0
  #active = 0
  /** By share: those that entered, and those that run. */
  readonly #taken = new Tally()
  readonly #running = new Tally()

  constructor(limits: RunSlotLimits) {
    this.#limits = limits
    this.#most = maxOfTenant(limits)
  }

  whyFull(tenant: string): Full | null {
    const { maxRuns, maxQueued } = this.#limits
    if (this.#entered >= maxRuns + maxQueued) return "all"
    return this.#taken.of(tenant) >= this.#most ? "share" : null
  }

  enter(tenant: string): Full | null {
    const full = this.whyFull(tenant)
    if (full === null) this.takeUp(tenant)
    return full
  }

  abandon(tenant: string): void {
    this.leave(tenant)
  }

  takeUp(tenant: string): void {
    this.#entered++
    this.#taken.add(tenant)
  }

  leave(tenant: string): void {
    this.#entered--
    this.#taken.remove(tenant)
  }

  begin(tenant: string): boolean {
    const may = this.#mayRun(tenant)
    if (may) this.beginAnyway(tenant)
    return may
  }

  beginAnyway(tenant: string): void {
    this.#active++
    this.#running.add(tenant)
  }

  end(tenant: string): void {
    this.#active--
    this.#running.remove(tenant)
  }

  wait(run_id: string, tenant: string, woken: boolean, begin: () => void): void {
    const queue = woken ? this.#wokenQueue : this.#queue
    queue.add(tenant, run_id, () => {
      this.beginAnyway(tenant)
      begin()
    })
  }

  unwait(run_id: string): void {
    this.#remove(run_id)
  }

  next(): boolean {
    const mayRun = (tenant: string): boolean => this.#mayRun(tenant)
    const run_id = this.#wokenQueue.next(mayRun) ?? this.#queue.next(mayRun)
    const begin = run_id === undefined ? undefined : this.#remove(run_id)
    begin?.()
    return begin !== undefined
  }

  free(): number {
    return this.#limits.maxRuns - this.#active
  }

  #mayRun(tenant: string): boolean {
    return this.#active < this.#limits.maxRuns && this.#running.of(tenant) < this.#limits.perTenant
  }

  #remove(run_id: string): (() => void) | undefined {
    return this.#wokenQueue.remove(run_id) ?? this.#queue.remove(run_id)
  }
}
