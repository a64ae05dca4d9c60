import { isTerminal, type LogEvent } from "../../src/log/events.ts"
import type { Lease } from "../../src/ports/store.ts"

/** When the questions expire that nobody has settled: as long as none is due, looking for one changes nothing. */
export class DueQuestions {
  /** By run and question. */
  readonly #expiries = new Map<string, Map<string, number>>()
  #first = Number.POSITIVE_INFINITY

  isDue(now: number): boolean {
    return now >= this.#first
  }

  /** What the store did, by the clock of the process that asked for it. */
  applied(operation: string, detail: unknown, now: number): void {
    if (operation === "append") {
      const { lease, events } = detail as { lease: Lease; events: readonly LogEvent[] }
      for (const event of events) this.#take(lease.run_id, event)
    } else if (operation === "expire") this.#expired(now)
  }

  #take(run_id: string, event: LogEvent): void {
    if (event.type === "question_asked") {
      const ofRun = this.#expiries.get(run_id) ?? new Map<string, number>()
      this.#expiries.set(run_id, ofRun.set(event.data.id, Date.parse(event.data.expires_at)))
    } else if (event.type === "question_answered" || event.type === "question_expired") {
      this.#expiries.get(run_id)?.delete(event.data.id)
    } else if (isTerminal(event.type)) this.#expiries.delete(run_id)
    else return
    this.#count()
  }

  #expired(now: number): void {
    for (const ofRun of this.#expiries.values()) {
      for (const [id, expiry] of ofRun) if (expiry <= now) ofRun.delete(id)
    }
    this.#count()
  }

  #count(): void {
    this.#first = Math.min(...[...this.#expiries.values()].flatMap((ofRun) => [...ofRun.values()]))
  }
}
