import { collectDefaultMetrics, Registry } from "prom-client"
import type { ModelCallRecord } from "../../log/events.ts"
import type { ReplayData } from "../../log/replay-data.ts"
import { BoundedLabels } from "./bounded-labels.ts"
import { Instruments } from "./instruments.ts"
import { ModelCounters } from "./model-counters.ts"
import { triggerOutcomes, type TriggerOutcome } from "../../ports/trigger-store.ts"
import type { WaitingCounts } from "../../ports/question-store.ts"
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
  /** The store's time, and how far the clock of this process is ahead of it; then the broker of a cluster, null without a cluster. */
  readonly clock: { now(): number; readonly aheadMs: number }
  readonly broker: (() => { readonly connected: boolean; readonly reconnects: number; readonly retries: number }) | null
  /** No other process serves with this one behind its port. */
  readonly isAlone: boolean
}

export interface Metrics {
  readonly observer: RunObserver
  /** One attempt to deliver a notification. */
  notified(outcome: "delivered" | "failed" | "gave_up"): void
  /** What became of a due time or a delivery; `lagMs` is how late a due time's run was started. */
  triggered(workflow: string, name: string, outcome: TriggerOutcome, lagMs: number | null): void
  readonly service: ServiceMetrics
  /** Of the text. */
  readonly type: string
  text(): Promise<MetricsText>
}

export interface MetricsText {
  readonly type: string
  readonly text: string
}

/** Workflows with names that have a label of their own; the others are counted together as `other`. */
const maxWorkflows = 1_000

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600]

const lagSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600, 86_400]

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
  const workflows = new BoundedLabels(maxWorkflows)
  const labelOf = (workflow: string | null): string => (workflow === null ? "" : workflows.of({ workflow }).workflow)
  const runs = make.counter("wire_runs_total", "Ended runs", ["status", "workflow"])
  const runTime = make.histogram("wire_run_duration_seconds", "Time from a run's start to its end", seconds, [
    "status",
    "workflow",
  ])
  const resumed = make.counter("wire_runs_resumed_total", "Runs taken up again")
  const agents = make.counter("wire_agents_total", "Ended agent steps", ["outcome"])
  const retries = make.counter("wire_agent_retries_total", "Retries and repairs")
  const models = new ModelCounters(make)
  const calls = make.histogram("wire_model_call_duration_seconds", "Time of one call of a model backend", seconds)
  const tools = make.counter("wire_tool_calls_total", "Ended tool calls", ["server", "tool", "outcome"])
  const toolTime = make.histogram("wire_tool_call_duration_seconds", "Time of one tool call", seconds, [
    "server",
    "tool",
  ])
  const toolNames = new BoundedLabels()
  const inner = make.counter("wire_workflow_calls_total", "Ended calls of workflows by workflows", [
    "called",
    "outcome",
  ])
  const innerTime = make.histogram(
    "wire_workflow_call_duration_seconds",
    "Time of one call of a workflow by a workflow",
    seconds,
    ["called"],
  )
  const calledNames = new BoundedLabels()
  const degraded = make.counter("wire_cache_degraded_total", "Failures of the cache")
  const asked = make.counter("wire_questions_asked_total", "Questions asked")
  const settled = make.counter("wire_questions_settled_total", "Questions whose outcome a run took in", ["outcome"])
  const notifications = make.counter(
    "wire_notification_attempts_total",
    "Attempts to deliver a notification; failed ones are tried again",
    ["outcome"],
  )
  const triggered = make.counter("wire_trigger_total", "What became of due times and deliveries", [
    "workflow",
    "name",
    "outcome",
  ])
  const lag = make.histogram("wire_trigger_lag_seconds", "Time from a due time to the start of its run", lagSeconds)
  // All labels are there from the start: without them, the first failure is no increase for an alert.
  const settledAs = { answered: settled.of("answered"), expired: settled.of("expired") }
  for (const outcome of ["delivered", "failed", "gave_up"]) notifications.of(outcome)
  const refreshWaiting = waitingGauges(make, counts)
  make.liveGauge("wire_runs_active", "Runs under way here", counts.active)
  make.liveGauge("wire_runs_queued", "Runs that wait for their turn here", counts.queued)
  make.liveGauge("wire_streams_open", "Open event streams", counts.streams)
  // Alert rules name them: of several processes, their parent has the figures.
  if (counts.isAlone) {
    make.liveGauge("wire_processes", "Processes that serve", () => 1)
    make.counter("wire_process_restarts_total", "Processes that ended and were started again").of()
  }
  const { broker, clock } = counts
  make.liveGauge(
    "wire_clock_offset_seconds",
    "How far the clock of this process is ahead of the store's time; negative: behind it",
    () => clock.aheadMs / 1000,
  )
  if (broker !== null) {
    make.liveGauge("wire_broker_connected", "1 while the broker is connected", () => (broker().connected ? 1 : 0))
    make.liveGauge(
      "wire_broker_reconnects",
      "Connections to the broker that replaced a lost one",
      () => broker().reconnects,
    )
    make.liveGauge("wire_broker_retries", "Requests to the broker that had to be made again", () => broker().retries)
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
  /** Runs of workflows with names that this process works on: the labels of these. */
  const named = new Map<string, string>()
  const endedAs = (status: string, workflow: string) => ({
    runs: runs.of(status, workflow),
    time: runTime.of(status, workflow),
  })
  const endsOf = (workflow: string) => ({
    completed: endedAs("completed", workflow),
    failed: endedAs("failed", workflow),
    cancelled: endedAs("cancelled", workflow),
  })
  const unnamed = endsOf("")
  const ended = (run_id: string, status: keyof typeof unnamed, duration_ms: number): void => {
    const workflow = named.get(run_id)
    // All three are there from the first end on: rates are computed from all.
    const ends = workflow === undefined ? unnamed : endsOf(workflow)
    named.delete(run_id)
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
  const calledInside = (name: string, duration_ms: number, outcome: "completed" | "failed"): void => {
    const label = calledNames.of({ name }).name
    const both = { completed: inner.of(label, "completed"), failed: inner.of(label, "failed") }
    both[outcome].add()
    innerTime.of(label).observe(duration_ms / 1000)
  }
  const service = serviceMetrics(make, reasons, labelOf)
  const text = async (): Promise<MetricsText> => {
    await refreshWaiting()
    return { type: registry.contentType, text: await registry.metrics() }
  }
  /** Readers that ask at the same time share one text, which takes milliseconds to write. */
  let made: Promise<MetricsText> | null = null

  return {
    service,
    type: registry.contentType,
    observer: {
      started: (_run_id, queuedMs) => service.queued(queuedMs),
      taken({ run_id, workflow }) {
        if (workflow !== null) named.set(run_id, labelOf(workflow.name))
      },
      left: (run_id) => void named.delete(run_id),
      appended(run_id, events) {
        const workflow = named.get(run_id) ?? ""
        for (const event of events) {
          switch (event.type) {
            case "agent_completed":
              agentsOf[event.data.cached ? "cached" : "completed"].add()
              time(event.data.calls)
              models.count(event.data.calls, workflow)
              break
            case "agent_failed":
              agentsOf.failed.add()
              time(event.data.calls)
              models.count(event.data.calls, workflow)
              break
            case "agent_fallback":
              models.fellBack((event.kept as ReplayData<"agent_fallback"> | undefined)?.calls ?? [])
              break
            case "step_skipped":
              // One that failed is counted as that.
              if (event.data.error === undefined) agentsOf.skipped.add()
              break
            case "agent_retried":
              retries.of().add()
              break
            case "context_compacted":
              models.count((event.kept as ReplayData<"context_compacted"> | undefined)?.calls ?? [], workflow)
              break
            case "tool_call_completed":
              called(event.data, "completed")
              break
            case "tool_call_failed":
              called(event.data, "failed")
              break
            case "workflow_call_completed":
              calledInside(event.data.workflow, event.data.duration_ms, "completed")
              break
            case "workflow_call_failed":
              calledInside(event.data.workflow, event.data.duration_ms, "failed")
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
            case "run_waiting":
              named.delete(run_id)
              break
            case "run_resumed":
              resumed.of().add()
              break
            case "workflow_completed":
              ended(run_id, "completed", event.data.duration_ms)
              break
            case "workflow_failed":
              ended(run_id, "failed", event.data.duration_ms)
              break
            case "workflow_cancelled":
              ended(run_id, "cancelled", event.data.duration_ms)
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
    triggered(workflow, name, outcome, lagMs) {
      // All are there from the first on: rates are computed from all.
      for (const one of triggerOutcomes) triggered.of(workflow, name, one)
      triggered.of(workflow, name, outcome).add()
      if (lagMs !== null) lag.of().observe(Math.max(0, lagMs) / 1000)
    },
    text: () => (made ??= text().finally(() => (made = null))),
  }
}

/** Read together by the function that this returns; without values while the store fails. */
function waitingGauges(make: Instruments, { waiting, clock }: LiveCounts): () => Promise<void> {
  const runs = make.gauge("wire_runs_waiting", "Runs in the store that wait for people, of all replicas")
  const questions = make.gauge("wire_questions_open", "Open questions in the store, of all replicas")
  const oldest = make.gauge("wire_question_oldest_age_seconds", "Age of the oldest open question; 0 without any")
  return async () => {
    try {
      const counts = await waiting()
      const { oldest_asked_at } = counts
      runs.set(counts.runs)
      questions.set(counts.questions)
      oldest.set(oldest_asked_at === null ? 0 : Math.max(0, (clock.now() - oldest_asked_at) / 1000))
    } catch {
      for (const gauge of [runs, questions, oldest]) gauge.remove()
    }
  }
}
