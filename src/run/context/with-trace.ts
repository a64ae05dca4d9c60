import type { RunRequest } from "../../ports/store.ts"
import type { RunPorts } from "./run-context.ts"

/** The request with the trace of its run: the one that it came with, else the run's own. */
export function withTrace(ports: Pick<RunPorts, "ownTrace">, run_id: string, request: RunRequest): RunRequest {
  const [, given] = request.traceparent?.split("-") ?? []
  const trace_id = given ?? ports.ownTrace?.(run_id)
  return trace_id === undefined ? request : { ...request, trace_id }
}
