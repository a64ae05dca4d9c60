import { instant, maxElapsed, type Clock, type Instant } from "../../ports/clock.ts"
import type { Gate } from "../../ports/gate.ts"
import { LeaseLost, type Lease, type RunStore } from "../../ports/store.ts"
import { LightSignal } from "../../base/light-signal.ts"

export interface HeldLease {
  readonly lease: Lease
  /** Asked for when the lease is lost or must be given back. */
  readonly leave: LightSignal
  /**
   * Passes while the lease is sure: renewed so recently, by every clock, that no other process can have taken the run over. A process that
   * stood still for longer asks the store first, and waits while the store fails.
   */
  readonly gate: Gate
}

interface Held extends HeldLease {
  /** For a run that is not stored yet: resolves when it is. */
  creating: Promise<void> | null
  /** When the latest renewal was asked for. */
  renewedAt: Instant
  renewing: Promise<void> | null
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

  /**
   * `askedAt`: before the store was asked for the lease. The answer may have been long on its way. `stored`: of a run that the
   * store may not have yet; nothing passes the gate before.
   */
  hold(lease: Lease, askedAt: Instant, stored: Promise<void> | null = null): HeldLease {
    const held: Held = {
      lease,
      leave: new LightSignal(),
      gate: () => this.#gate(held),
      creating: null,
      renewedAt: askedAt,
      renewing: null,
    }
    this.#held.set(lease.run_id, held)
    if (stored !== null) {
      held.creating = stored.then(
        () => {
          held.creating = null
        },
        () => {
          this.drop(held)
          held.leave.give()
        },
      )
    }
    return held
  }

  /** The run has ended, or belongs to another process now. */
  drop({ lease }: HeldLease): void {
    if (this.#held.get(lease.run_id)?.lease === lease) this.#held.delete(lease.run_id)
  }

  /** Tells every run to stop and leave its log as it is. */
  leaveAll(): void {
    for (const { leave } of this.#held.values()) leave.give()
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

  #gate(held: Held): Promise<void> | null {
    if (held.leave.isGiven) return Promise.reject(new LeaseLost(held.lease.run_id))
    if (held.creating !== null) return held.creating
    // The last third is for what happens between this answer and the first byte of the call.
    if (maxElapsed(this.#clock, held.renewedAt) < (this.#leaseMs * 2) / 3) return null
    return this.#becomeSure(held)
  }

  async #becomeSure(held: Held): Promise<void> {
    const { renewedAt } = held
    await this.#renew(held)
    // The store fails: whether the lease still holds is known when it works again.
    if (held.renewedAt === renewedAt && !held.leave.isGiven) {
      const wake = new AbortController()
      const stopListening = held.leave.listen(() => wake.abort())
      await this.#clock.sleep(this.#leaseMs / 3, wake.signal).catch(() => undefined)
      stopListening()
    }
    if (held.leave.isGiven) throw new LeaseLost(held.lease.run_id)
  }

  #renew(held: Held): Promise<void> {
    held.renewing ??= this.#renewNow(held).finally(() => (held.renewing = null))
    return held.renewing
  }

  async #renewNow(held: Held): Promise<void> {
    const askedAt = instant(this.#clock)
    try {
      if (await this.#store.renew(held.lease, this.#leaseMs)) {
        held.renewedAt = askedAt
        return
      }
    } catch {
      // A store that fails does not take a lease away. If another process takes the run over, the next append or renewal says so.
      return
    }
    this.drop(held)
    held.leave.give()
  }
}
