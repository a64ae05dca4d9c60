import type { Clock } from "../../ports/clock.ts"
import type { Lease, RunStore } from "../../ports/store.ts"

export interface HeldLease {
  readonly lease: Lease
  /** Aborts when the lease is lost, or is to be given back. */
  readonly leave: AbortSignal
  /**
   * To be awaited before something is done that the log cannot refuse, such as a model call: at once while the lease lasts by
   * the clock; a process that stood still for longer asks the store first, and waits while the store fails. Rejects once the
   * lease is lost.
   */
  sure(): Promise<void>
}

interface Held extends HeldLease {
  readonly abort: AbortController
  renewedAt: number
}

/** Renews all leases of this process in one go, and tells each run whose lease is lost to stop. */
export class LeaseKeeper {
  readonly #store: RunStore
  readonly #clock: Clock
  readonly #leaseMs: number
  readonly #held = new Map<string, Held>()
  readonly #stop = new AbortController()
  readonly #renewing: Promise<void>

  constructor(store: RunStore, clock: Clock, leaseMs: number) {
    this.#store = store
    this.#clock = clock
    this.#leaseMs = leaseMs
    this.#renewing = this.#renewForEver()
  }

  hold(lease: Lease): HeldLease {
    const abort = new AbortController()
    const sure = (): Promise<void> => this.#sure(held)
    const held: Held = { lease, leave: abort.signal, sure, abort, renewedAt: this.#clock.monotonic() }
    this.#held.set(lease.run_id, held)
    return held
  }

  /** The run has ended, or is no longer this process's business. */
  drop({ lease }: HeldLease): void {
    if (this.#held.get(lease.run_id)?.lease === lease) this.#held.delete(lease.run_id)
  }

  /** Tells every run to stop and leave its log as it is. */
  leaveAll(): void {
    for (const { abort } of this.#held.values()) abort.abort(new Error("The process gives its runs back"))
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error("The lease keeper is closed"))
    await this.#renewing
  }

  async #renewForEver(): Promise<void> {
    const { signal } = this.#stop
    for (;;) {
      try {
        await this.#clock.sleep(this.#leaseMs / 3, signal)
      } catch {
        return
      }
      await Promise.all([...this.#held.values()].map((held) => this.#renew(held)))
    }
  }

  async #sure(held: Held): Promise<void> {
    const isFresh = (): boolean => this.#clock.monotonic() - held.renewedAt < (this.#leaseMs * 2) / 3
    while (!isFresh() && !held.leave.aborted) {
      await this.#renew(held)
      // The store fails: whether the lease still holds is known when it works again.
      if (!isFresh() && !held.leave.aborted) {
        await this.#clock.sleep(this.#leaseMs / 3, held.leave).catch(() => undefined)
      }
    }
    held.leave.throwIfAborted()
  }

  async #renew(held: Held): Promise<void> {
    const at = this.#clock.monotonic()
    try {
      if (await this.#store.renew(held.lease, this.#leaseMs)) {
        held.renewedAt = at
        return
      }
    } catch {
      // A store that fails takes nobody's lease. If another process takes the run over, the next append or renewal says so.
      return
    }
    this.drop(held)
    held.abort.abort(new Error("The lease is lost"))
  }
}
