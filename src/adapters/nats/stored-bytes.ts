import type { Clock } from "../../ports/clock.ts"
import { isTerminal, type LogEvent } from "../../log/events.ts"
import { eventBytes } from "../../log/event-bytes.ts"

const minuteMs = 60_000

/**
 * What this process has stored for each caller, and retention has not deleted yet: by the minute in which a run ended or began to wait. What other
 * processes have stored, and what came before the start of this one, is not counted.
 */
export class StoredBytes {
  readonly #clock: Clock
  /** By run: what was appended since this process took it up. */
  readonly #open = new Map<string, number>()
  /** By caller, then by minute. */
  readonly #stored = new Map<string, Map<number, number>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  of(caller: string): number {
    let all = 0
    for (const bytes of this.#stored.get(caller)?.values() ?? []) all += bytes
    return all
  }

  /** Events that were stored. `callerOf` is asked where they end the run, or park it. */
  async appended(run_id: string, events: readonly LogEvent[], callerOf: () => Promise<string | null>): Promise<void> {
    const bytes = events.reduce((sum, event) => sum + eventBytes(event), this.#open.get(run_id) ?? 0)
    const last = events.at(-1)
    if (last === undefined || (!isTerminal(last.type) && last.type !== "run_waiting")) {
      this.#open.set(run_id, bytes)
      return
    }
    this.#open.delete(run_id)
    const caller = await callerOf()
    if (caller === null) return
    const minutes = this.#stored.get(caller) ?? new Map<number, number>()
    const minute = Math.floor(this.#clock.now() / minuteMs)
    minutes.set(minute, (minutes.get(minute) ?? 0) + bytes)
    this.#stored.set(caller, minutes)
  }

  /** Another process goes on with the run. */
  left(run_id: string): void {
    this.#open.delete(run_id)
  }

  /** Retention has deleted what ended before. */
  swept(ended_before: number): void {
    for (const [caller, minutes] of this.#stored) {
      for (const minute of minutes.keys()) if ((minute + 1) * minuteMs <= ended_before) minutes.delete(minute)
      if (minutes.size === 0) this.#stored.delete(caller)
    }
  }
}
