import { Tally } from "../../base/tally.ts"
import type { StoredRun } from "./stored-run.ts"

/** The runs of a `MemoryStore` that wait for people, and those that were woken until they are claimed. Nothing here takes longer with many of them. */
export class ParkedRuns {
  readonly #waiting = new Map<string, StoredRun>()
  /** Waiting runs, counted by caller. */
  readonly #callers = new Tally()
  /** In the order of their wakes. */
  readonly #woken = new Map<string, StoredRun>()

  /** How many wait. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** How many runs of the caller wait. */
  waitingOf(caller: string): number {
    return this.#callers.of(caller)
  }

  woken(): Iterable<[string, StoredRun]> {
    return this.#woken
  }

  park(run_id: string, run: StoredRun): void {
    run.parked = "waiting"
    run.lease_until = Number.POSITIVE_INFINITY
    this.#waiting.set(run_id, run)
    this.#callers.add(run.caller)
  }

  /** From now on the run can be claimed. Nothing happens to one that does not wait. */
  wake(run_id: string): void {
    const run = this.#waiting.get(run_id)
    if (run === undefined) return
    this.#waiting.delete(run_id)
    this.#callers.remove(run.caller)
    run.parked = "woken"
    run.lease_until = Number.NEGATIVE_INFINITY
    this.#woken.set(run_id, run)
  }

  claimed(run_id: string, run: StoredRun): void {
    run.parked = null
    this.#woken.delete(run_id)
  }
}
