import { isTerminal, type LogEvent } from "../../src/log/events.ts"
import type { Lease } from "../../src/ports/store.ts"
import { waitsIn } from "../../src/ports/waits.ts"

/** When the waits are due that nothing has settled: as long as none is, looking for one changes nothing. */
export class DueWaits {
  /** By run and wait. */
  readonly #times = new Map<string, Map<string, number>>()
  #first = Number.POSITIVE_INFINITY

  isDue(now: number): boolean {
    return now >= this.#first
  }

  /** What the store did, by the clock of the process that asked for it. */
  applied(operation: string, detail: unknown, now: number): void {
    if (operation === "append") {
      const { lease, events } = detail as { lease: Lease; events: readonly LogEvent[] }
      this.#take(lease.run_id, events)
    } else if (operation === "settle due") this.#settled(now)
  }

  #take(run_id: string, events: readonly LogEvent[]): void {
    const { opened, taken } = waitsIn(events)
    const isOver = events.some(({ type }) => isTerminal(type))
    if (opened.length === 0 && taken.length === 0 && !isOver) return
    const ofRun = this.#times.get(run_id) ?? new Map<string, number>()
    this.#times.set(run_id, ofRun)
    for (const { id, due_at } of opened) ofRun.set(id, due_at)
    for (const id of taken) ofRun.delete(id)
    if (isOver) this.#times.delete(run_id)
    this.#count()
  }

  #settled(now: number): void {
    for (const ofRun of this.#times.values()) {
      for (const [id, due_at] of ofRun) if (due_at <= now) ofRun.delete(id)
    }
    this.#count()
  }

  #count(): void {
    this.#first = Math.min(...[...this.#times.values()].flatMap((ofRun) => [...ofRun.values()]))
  }
}
