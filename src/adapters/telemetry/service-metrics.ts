import { BoundedLabels } from "./bounded-labels.ts"
import type { Instruments } from "./instruments.ts"
import type { StoreTimer } from "./time-store.ts"

/** Counts of what happens around runs: requests, refusals, waits. */
export interface ServiceMetrics {
  /** A request has been answered. The route is its pattern (`/execute/:run_id`), and `workflow` is the name of the one that it is about; null where there is none. */
  answered(method: string, route: string | null, status: number, duration_ms: number, workflow: string | null): void
  /** A request was refused, for this kind of error. */
  refused(reason: string): void
  queued(duration_ms: number): void
  /** A model gave the first piece of its answer. */
  firstToken(api: string, duration_ms: number): void
  /** A model call has waited for a rate, or for a pause of its backend. */
  paced(kind: string, host: string, duration_ms: number): void
  /** A run was erased. */
  erased(): void
  /** What became of an event that somebody sent. */
  eventSent(outcome: (typeof eventOutcomes)[number]): void
  readonly store: StoreTimer
}

const eventOutcomes = ["delivered", "kept", "unmatched", "refused"] as const

const requestSeconds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600]
const storeSeconds = [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
const tokenSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 30, 60, 120]
const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

/** `reasons` are all kinds of errors that a request can be refused for; each of them counts from 0. */
export function serviceMetrics(
  make: Instruments,
  reasons: readonly string[],
  labelOf: (workflow: string | null) => string,
): ServiceMetrics {
  const events = make.counter("wire_events_total", "What became of the events that callers and webhooks sent", [
    "outcome",
  ])
  for (const outcome of eventOutcomes) events.of(outcome)
  const erased = make.counter("wire_erased_runs_total", "Runs that were erased by a value of their input")
  erased.of()
  const requests = make.counter("wire_http_requests_total", "Answered HTTP requests", [
    "method",
    "route",
    "status",
    "workflow",
  ])
  const requestTime = make.histogram(
    "wire_http_request_duration_seconds",
    "Time from a request's arrival to the end of its answer; a stream ends with its run",
    requestSeconds,
    ["route", "workflow"],
  )
  const refusals = make.counter("wire_http_refusals_total", "Refused HTTP requests, by the kind of their error", [
    "reason",
  ])
  for (const reason of reasons) refusals.of(reason)
  const queue = make.histogram("wire_run_queue_seconds", "Time that a run waited for its turn", requestSeconds)
  const firstToken = make.histogram(
    "wire_model_first_token_seconds",
    "Time from a model call's request to the first text of its answer, in runs with deltas",
    tokenSeconds,
    ["api"],
  )
  const paced = make.histogram(
    "wire_rate_wait_seconds",
    "Time that a model call waited for a rate, or for a pause of its backend",
    requestSeconds,
    ["provider", "host"],
  )
  const hosts = new BoundedLabels()
  const store = make.histogram("wire_store_duration_seconds", "Time of one operation of the store", storeSeconds, [
    "operation",
  ])
  const storeFailures = make.counter("wire_store_failures_total", "Failed operations of the store", ["operation"])
  return {
    answered(method, route, status, duration_ms, workflow) {
      const known = methods.has(method) ? method : "other"
      const label = labelOf(workflow)
      requests.of(known, route ?? "none", String(status), label).add()
      requestTime.of(route ?? "none", label).observe(duration_ms / 1000)
    },
    refused: (reason) => refusals.of(reason).add(),
    queued: (duration_ms) => queue.of().observe(duration_ms / 1000),
    firstToken: (api, duration_ms) => firstToken.of(api).observe(duration_ms / 1000),
    paced(kind, host, duration_ms) {
      const labels = hosts.of({ provider: kind, host })
      paced.of(labels.provider, labels.host).observe(duration_ms / 1000)
    },
    erased: () => erased.of().add(),
    eventSent: (outcome) => events.of(outcome).add(),
    store: {
      known(operation) {
        store.of(operation)
        storeFailures.of(operation)
      },
      took: (operation, duration_ms) => store.of(operation).observe(duration_ms / 1000),
      failed: (operation) => storeFailures.of(operation).add(),
    },
  }
}
