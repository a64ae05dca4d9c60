import { LedgerFold, type LedgerRow } from "../../log/ledger-fold.ts"
import type { LogEvent } from "../../log/events.ts"

/** What a call holds of budgets until its use is in the ledger. */
export interface HeldClaim {
  /** What it used is in the ledger. */
  logged(): void
  /** Another process goes on with the run. */
  leave(): void
}

/** What a run has used, as its log says: each piece of the log is stored with the entries that it changes. */
export class RunLedger {
  readonly #fold: LedgerFold
  /** Made for the first claim: most services have no budgets. */
  #claims: Map<string, HeldClaim> | null = null
  #ended: string[] = []

  /** `fold`: what the log says so far. */
  constructor(fold: LedgerFold | null) {
    this.#fold = fold ?? new LedgerFold()
  }

  hold(callKey: string, claim: HeldClaim): void {
    this.#claims ??= new Map()
    this.#claims.set(callKey, claim)
  }

  /** Takes in events that are about to be stored; gives the entries to store with them. */
  take(events: readonly LogEvent[]): readonly LedgerRow[] {
    for (const event of events) {
      const ended = this.#fold.take(event)
      if (this.#claims !== null) this.#ended.push(...ended)
    }
    return this.#fold.changed()
  }

  /** What was taken in is stored. */
  stored(): void {
    if (this.#ended.length === 0) return
    for (const key of this.#ended) {
      this.#claims?.get(key)?.logged()
      this.#claims?.delete(key)
    }
    this.#ended = []
  }

  /** The run is not this process's any more. */
  leave(): void {
    for (const claim of this.#claims?.values() ?? []) claim.leave()
    this.#claims = null
  }
}
