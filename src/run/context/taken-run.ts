import type { RunRequest, WorkflowVersion } from "../../ports/store.ts"

/** What operators may know of a run that this process works on: no content. */
export interface TakenRun {
  readonly run_id: string
  /** The name of the caller's key; empty without keys. */
  readonly caller: string
  /** The workflow of the server's folder; null for source that a caller sent. */
  readonly workflow: WorkflowVersion | null
  /** Its request came with secrets. Absent where all are the server's. */
  readonly bringsSecrets?: true
  /** Another process worked on it before, or this one before it was parked. */
  readonly resumed: boolean
  /** The trace of its spans; null where it has none. */
  readonly trace_id: string | null
  /** The `traceparent` header of the request that started it. */
  readonly traceparent: string | null
  /** The `tracestate` header that came with it. */
  readonly tracestate: string | null
  /** Its `baggage` header, if a backend may have it. */
  readonly baggage: string | null
}

/** Reports that this process works on a run from now on. */
export function announceTaken(
  ports: { taken?(run: TakenRun): void },
  run_id: string,
  caller: string,
  request: RunRequest,
  resumed: boolean,
): void {
  const { workflow = null, trace_id = null, traceparent = null, tracestate = null, baggage = null, secrets } = request
  const own = Object.keys(secrets).length > 0 && { bringsSecrets: true as const }
  ports.taken?.({ run_id, caller, workflow, ...own, resumed, trace_id, traceparent, tracestate, baggage })
}
