import { collectDefaultMetrics, Registry } from "prom-client"
import type { ModelCallRecord, Usage } from "../../log/events.ts"
import type { Kept } from "../../log/kept.ts"
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
  text(): Promise<MetricsText>
}

export interface MetricsText {
  readonly type: string
  readonly text: string
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
  // All labels are there from the start: without them, the first failure is no increase for an alert.
  const settledAs = { answered: settled.of("answered"), expired: settled.of("expired") }
  for (const outcome of ["delivered", "failed", "gave_up"]) notifications.of(outcome)
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

  const tokensOf = {
    input: tokens.of("input"),
    output: tokens.of("output"),
    cached: tokens.of("cached"),
    reasoning: tokens.of("reasoning"),
  }
  const count = (usage: Usage): void => {
    tokensOf.input.add(usage.input_tokens)
    tokensOf.output.add(usage.output_tokens)
    tokensOf.cached.add(usage.cached_tokens)
    tokensOf.reasoning.add(usage.reasoning_tokens)
  }
  const agentsOf = {
    completed: agents.of("completed"),
    cached: agents.of("cached"),
    failed: agents.of("failed"),
    skipped: agents.of("skipped"),
  }
  const callTime = calls.of()
  const time = (records: readonly ModelCallRecord[]): void => {
    for (const record of records) callTime.observe(record.duration_ms / 1000)
  }
  const endedAs = (status: string) => ({ runs: runs.of(status), time: runTime.of(status) })
  const ends = { completed: endedAs("completed"), failed: endedAs("failed"), cancelled: endedAs("cancelled") }
  const ended = (status: keyof typeof ends, duration_ms: number): void => {
    ends[status].runs.add()
    ends[status].time.observe(duration_ms / 1000)
  }

  const called = (
    about: { readonly server: string; readonly tool: string; readonly duration_ms: number },
    outcome: "completed" | "failed",
  ): void => {
    const { server, tool } = toolNames.of({ server: about.server, tool: about.tool })
    // Both outcomes are there from the first call: rates are computed from both.
    const both = { completed: tools.of(server, tool, "completed"), failed: tools.of(server, tool, "failed") }
    both[outcome].add()
    toolTime.of(server, tool).observe(about.duration_ms / 1000)
  }
  const service = serviceMetrics(make, reasons)
  const text = async (): Promise<MetricsText> => {
    await refreshWaiting()
    return { type: registry.contentType, text: await registry.metrics() }
  }
  /** Readers that ask at the same time share one text, which takes milliseconds to write. */
  let made: Promise<MetricsText> | null = null

  return {
    service,
    observer: {
      started: (_run_id, queuedMs) => service.queued(queuedMs),
      appended(_run_id, events) {
        for (const event of events) {
          switch (event.type) {
            case "agent_completed":
              agentsOf[event.data.cached ? "cached" : "completed"].add()
              if (!event.data.cached) count(event.data.usage)
              time(event.data.calls)
              models.count(event.data.calls)
              break
            case "agent_failed":
              agentsOf.failed.add()
              time(event.data.calls)
              models.count(event.data.calls)
              break
            case "agent_fallback":
              models.fellBack((event.kept as Kept<"agent_fallback"> | undefined)?.calls ?? [])
              break
            case "step_skipped":
              // One that failed is counted as that.
              if (event.data.error === undefined) agentsOf.skipped.add()
              break
            case "agent_retried":
              retries.of().add()
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
              asked.of().add()
              break
            case "question_answered":
              settledAs.answered.add()
              break
            case "question_expired":
              settledAs.expired.add()
              break
            case "cache_degraded":
              degraded.of().add()
              break
            case "run_resumed":
              resumed.of().add()
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
      notifications.of(outcome).add()
    },
    text: () => (made ??= text().finally(() => (made = null))),
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
