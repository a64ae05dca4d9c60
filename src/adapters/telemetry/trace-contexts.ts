import { isTerminal, type LogEvent } from "../../log/events.ts"
import type { TakenRun } from "../../run/context/taken-run.ts"
import type { RunObserver } from "./run-observer.ts"
import type { TraceHeaders } from "./run-tracer.ts"

/**
 * The trace headers of each run that this process works on, for the backends that may have them: those of the run's own span
 * or, where no traces are exported, those of the request that started it; and its baggage.
 */
export class TraceContexts implements RunObserver {
  readonly #own: (run_id: string) => TraceHeaders | null
  readonly #received = new Map<string, Readonly<Record<string, string>>>()

  constructor(own: (run_id: string) => TraceHeaders | null) {
    this.#own = own
  }

  taken({ run_id, traceparent, tracestate, baggage }: TakenRun): void {
    if (traceparent === null && baggage === null) return
    this.#received.set(run_id, {
      ...(traceparent !== null && { traceparent }),
      ...(tracestate !== null && { tracestate }),
      ...(baggage !== null && { baggage }),
    })
  }

  appended(run_id: string, events: readonly LogEvent[]): void {
    if (events.some(({ type }) => isTerminal(type))) this.#received.delete(run_id)
  }

  left(run_id: string): void {
    this.#received.delete(run_id)
  }

  headers(run_id: string): Readonly<Record<string, string>> {
    return { ...this.#received.get(run_id), ...this.#own(run_id) }
  }
}
