import { collectDefaultMetrics, Registry } from "prom-client"
import type { ModelCallRecord, Usage } from "../../ports/events.ts"
import type { Kept } from "../../run/log/kept.ts"
import { BoundedLabels } from "./bounded-labels.ts"
import { Instruments } from "./instruments.ts"
import { ModelCounters } from "./model-counters.ts"
import type { WaitingCounts } from "../../ports/questions.ts"
import type { RunObserver } from "./run-observer.ts"
import type { ServiceMetrics } from "./service-metrics.ts"
import { serviceMetrics } from "./service-metrics.ts"

/** Figures that other code counts, read when they are asked for. */
export interface LiveCounts {
  readonly active: () => number
  readonly queued: () => number
  readonly streams: () => number
  /** What waits for people in the whole store, whichever process put it there. Rejects while the store fails. */
  readonly waiting: () => Promise<WaitingCounts>
  /** The broker of a cluster; null without a cluster. */
  readonly broker: (() => { readonly connected: boolean; readonly reconnects: number; readonly retries: number }) | null
}

export interface Metrics {
  readonly observer: RunObserver
  /** One attempt to deliver a notification. */
  notified(outcome: "delivered" | "failed" | "gave_up"): void
  readonly service: ServiceMetrics
  text(): Promise<{ readonly type: string; readonly text: string }>
}

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600]

/** Gauges of prom-client whose names end in `_total`: that ending is for counters, and promtool refuses it elsewhere. */
const misnamed = ["nodejs_active_resources_total", "nodejs_active_handles_total", "nodejs_active_requests_total"]

/**
 * Counts of runs, agents, tokens and calls, in Prometheus's format. Labels hold names that workflows declare and ids of models,
 * a bounded number of them, and nothing else that a caller wrote. `reasons` are the kinds of errors that a request can be refused for.
 */
export function createMetrics(counts: LiveCounts, reasons: readonly string[]): Metrics {
  const registry = new Registry()
  const make = new Instruments(registry)
  // Event-loop lag, memory, CPU, garbage collection.
  collectDefaultMetrics({ register: registry })
  for (const name of misnamed) registry.removeSingleMetric(name)
  const runs = make.counter("wireworks_runs_total", "Ended runs", ["status"])
  const runTime = make.histogram("wireworks_run_duration_seconds", "Time from a run's start to its end", seconds, [
    "status",
  ])
  const resumed = make.counter("wireworks_runs_resumed_total", "Runs taken up again")
  const agents = make.counter("wireworks_agents_total", "Ended agent steps", ["outcome"])
  const retries = make.counter("wireworks_agent_retries_total", "Retries and repairs")
  const tokens = make.counter("wireworks_tokens_total", "Tokens used", ["kind"])
  const models = new ModelCounters(make)
  const calls = make.histogram("wireworks_model_call_duration_seconds", "Time of one call of a model backend", seconds)
  const tools = make.counter("wireworks_tool_calls_total", "Ended tool calls", ["server", "tool", "outcome"])
  const toolTime = make.histogram("wireworks_tool_call_duration_seconds", "Time of one tool call", seconds, [
    "server",
    "tool",
  ])
  const toolNames = new BoundedLabels()
  const degraded = make.counter("wireworks_cache_degraded_total", "Failures of the cache")
  const asked = make.counter("wireworks_questions_asked_total", "Questions asked")
  const settled = make.counter("wireworks_questions_settled_total", "Questions whose outcome a run took in", [
    "outcome",
  ])
  const notifications = make.counter(
    "wireworks_notification_attempts_total",
    "Attempts to deliver a notification; failed ones are tried again",
    ["outcome"],
  )
  for (const outcome of ["answered", "expired"]) settled.inc({ outcome }, 0)
  for (const outcome of ["delivered", "failed", "gave_up"]) notifications.inc({ outcome }, 0)
  const refreshWaiting = waitingGauges(make, counts.waiting)
  make.liveGauge("wireworks_runs_active", "Runs under way here", counts.active)
  make.liveGauge("wireworks_runs_queued", "Runs that wait for their turn here", counts.queued)
  make.liveGauge("wireworks_streams_open", "Open event streams", counts.streams)
  const { broker } = counts
  if (broker !== null) {
    make.liveGauge("wireworks_broker_connected", "1 while the broker is connected", () => (broker().connected ? 1 : 0))
    make.liveGauge(
      "wireworks_broker_reconnects",
      "Connections to the broker that replaced a lost one",
      () => broker().reconnects,
    )
    make.liveGauge(
      "wireworks_broker_retries",
      "Requests to the broker that had to be made again",
      () => broker().retries,
    )
  }

  // Labels are looked up once: that costs more than the counting.
  const tokensOf = {
    input: tokens.labels("input"),
    output: tokens.labels("output"),
    cached: tokens.labels("cached"),
    reasoning: tokens.labels("reasoning"),
  }
  const count = (usage: Usage): void => {
    tokensOf.input.inc(usage.input_tokens)
    tokensOf.output.inc(usage.output_tokens)
    if (usage.cached_tokens > 0) tokensOf.cached.inc(usage.cached_tokens)
    if (usage.reasoning_tokens > 0) tokensOf.reasoning.inc(usage.reasoning_tokens)
  }
  const agentsOf = {
    completed: agents.labels("completed"),
    cached: agents.labels("cached"),
    failed: agents.labels("failed"),
    skipped: agents.labels("skipped"),
  }
  const time = (records: readonly ModelCallRecord[]): void => {
    for (const record of records) calls.observe(record.duration_ms / 1000)
  }
  const of = (status: string) => {
    // Seen from the start: else the first failure is no increase for an alert.
    runs.inc({ status }, 0)
    runTime.zero({ status })
    return { runs: runs.labels(status), time: runTime.labels(status) }
  }
  const ends = { completed: of("completed"), failed: of("failed"), cancelled: of("cancelled") }
  const ended = (status: keyof typeof ends, duration_ms: number): void => {
    ends[status].runs.inc()
    ends[status].time.observe(duration_ms / 1000)
  }

  const called = (
    { server, tool, duration_ms }: { readonly server: string; readonly tool: string; readonly duration_ms: number },
    outcome: "completed" | "failed",
  ): void => {
    const names = toolNames.of({ server, tool })
    tools.inc({ ...names, outcome })
    // The other outcome is there as well: rates are computed from both.
    tools.inc({ ...names, outcome: outcome === "failed" ? "completed" : "failed" }, 0)
    toolTime.observe(names, duration_ms / 1000)
  }
  for (const each of Object.values(agentsOf)) each.inc(0)
  for (const each of Object.values(tokensOf)) each.inc(0)
  const service = serviceMetrics(make, reasons)

  return {
    service,
    observer: {
      started: (_run_id, queuedMs) => service.queued(queuedMs),
      appended(_run_id, events) {
        for (const event of events) {
          switch (event.type) {
            case "agent_completed":
              agentsOf[event.data.cached ? "cached" : "completed"].inc()
              if (!event.data.cached) count(event.data.usage)
              time(event.data.calls)
              models.count(event.data.calls)
              break
            case "agent_failed":
              agentsOf.failed.inc()
              time(event.data.calls)
              models.count(event.data.calls)
              break
            case "agent_fallback":
              models.fellBack((event.kept as Kept<"agent_fallback"> | undefined)?.calls ?? [])
              break
            case "step_skipped":
              // One that failed is counted as that.
              if (event.data.error === undefined) agentsOf.skipped.inc()
              break
            case "agent_retried":
              retries.inc()
              break
            case "context_compacted":
              count(event.data.usage)
              models.count((event.kept as Kept<"context_compacted"> | undefined)?.calls ?? [])
              break
            case "tool_call_completed":
              called(event.data, "completed")
              break
            case "tool_call_failed":
              called(event.data, "failed")
              break
            case "question_asked":
              asked.inc()
              break
            case "question_answered":
              settled.inc({ outcome: "answered" })
              break
            case "question_expired":
              settled.inc({ outcome: "expired" })
              break
            case "cache_degraded":
              degraded.inc()
              break
            case "run_resumed":
              resumed.inc()
              break
            case "workflow_completed":
              ended("completed", event.data.duration_ms)
              break
            case "workflow_failed":
              ended("failed", event.data.duration_ms)
              break
            case "workflow_cancelled":
              ended("cancelled", event.data.duration_ms)
              break
            default:
              break
          }
        }
      },
    },
    notified(outcome) {
      notifications.inc({ outcome })
    },
    async text() {
      await refreshWaiting()
      return { type: registry.contentType, text: await registry.metrics() }
    },
  }
}

/** Read together by the function that this returns; without values while the store fails. */
function waitingGauges(make: Instruments, read: () => Promise<WaitingCounts>): () => Promise<void> {
  const runs = make.gauge("wireworks_runs_waiting", "Runs in the store that wait for people, of all replicas")
  const questions = make.gauge("wireworks_questions_open", "Open questions in the store, of all replicas")
  const oldest = make.gauge("wireworks_question_oldest_age_seconds", "Age of the oldest open question; 0 without any")
  return async () => {
    try {
      const counts = await read()
      const { oldest_asked_at } = counts
      runs.set(counts.runs)
      questions.set(counts.questions)
      oldest.set(oldest_asked_at === null ? 0 : Math.max(0, (Date.now() - oldest_asked_at) / 1000))
    } catch {
      for (const gauge of [runs, questions, oldest]) gauge.remove()
    }
  }
}
