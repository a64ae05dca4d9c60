import { collectDefaultMetrics, Registry } from "prom-client"
import { BoundedLabels } from "./bounded-labels.ts"
import { Instruments } from "./instruments.ts"
import type { ModelCallRecord } from "../../log/events.ts"
import type { ScoreValue } from "../../ports/scores.ts"
import { ModelCounters } from "./model-counters.ts"
import { runMetrics } from "./run-metrics.ts"
import { triggerOutcomes, type TriggerOutcome } from "../../ports/trigger-store.ts"
import type { WaitCounts } from "../../ports/waits.ts"
import type { RunObserver } from "./run-observer.ts"
import type { ServiceMetrics } from "./service-metrics.ts"
import { serviceMetrics } from "./service-metrics.ts"

/** Figures that other code counts, read when they are asked for. */
export interface LiveCounts {
  readonly active: () => number
  readonly queued: () => number
  readonly streams: () => number
  /** Counts of runs and questions that wait for people, in the whole store. Rejects while the store fails. */
  readonly waiting: () => Promise<WaitCounts>
  /** Model calls that wait for their turn, by kind of provider and host. */
  readonly paced: () => readonly { readonly kind: string; readonly host: string; readonly count: number }[]
  /** Budgets by their paths, and the part of each that is used. Rejects while the store fails. */
  readonly budgets: () => Promise<readonly { readonly path: string; readonly ratio: number }[]>
  /** Bytes of all files, and how many this process has stored. Rejects while the store fails. */
  readonly files: () => Promise<{ readonly bytes: number; readonly added: number }>
  /** Workflows with a candidate, and whether that is stopped. Rejects while the store fails. */
  readonly releases: () => Promise<readonly { readonly workflow: string; readonly stopped: boolean }[]>
  /** The store's time, and how far the clock of this process is ahead of it. */
  readonly clock: { now(): number; readonly aheadMs: number }
  /** No other process serves with this one behind its port. */
  readonly isAlone: boolean
}

export interface Metrics {
  readonly observer: RunObserver
  /** One attempt to deliver a notification. */
  notified(outcome: "delivered" | "failed" | "gave_up"): void
  /** Counts the outcome of a due time or a delivery; `lagMs` is how late the run of a due time was started. */
  triggered(workflow: string, name: string, outcome: TriggerOutcome, lagMs: number | null): void
  /** A declared score has a result that is counted. */
  scored(workflow: string, name: string, value: ScoreValue): void
  /** The calls of a judge. */
  judged(workflow: string, calls: readonly ModelCallRecord[]): void
  readonly service: ServiceMetrics
  /** Content type of the text. */
  readonly type: string
  text(): Promise<MetricsText>
}

export interface MetricsText {
  readonly type: string
  readonly text: string
}

/** Workflows with names that have a label of their own; the others are counted together as `other`. */
const maxWorkflows = 1_000
/** Values of scores with a label of their own. */
const maxScores = 2_000

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
  const service = serviceMetrics(make, reasons, labelOf)
  const models = new ModelCounters(make)
  const observer = runMetrics(make, labelOf, (ms) => service.queued(ms), models)
  const refreshWaiting = waitingGauges(make, counts)
  processGauges(make, counts)
  const refreshPaced = pacedGauge(make, counts)
  const refreshBudgets = budgetGauge(make, counts)
  const refreshFiles = fileGauges(make, counts)
  const refreshReleases = releaseGauge(make, counts)
  const text = async (): Promise<MetricsText> => {
    refreshPaced()
    await refreshWaiting()
    await refreshBudgets()
    await refreshFiles()
    await refreshReleases()
    return { type: registry.contentType, text: await registry.metrics() }
  }
  /** Readers that ask at the same time share one text, which takes milliseconds to write. */
  let made: Promise<MetricsText> | null = null
  return {
    service,
    observer,
    type: registry.contentType,
    notified: notificationCounts(make),
    triggered: triggerCounts(make),
    scored: scoreCounts(make, labelOf),
    judged: (workflow, calls) => models.count(calls, labelOf(workflow), "", "score"),
    text: () => (made ??= text().finally(() => (made = null))),
  }
}

function notificationCounts(make: Instruments): Metrics["notified"] {
  const attempts = make.counter(
    "wire_notification_attempts_total",
    "Attempts to deliver a notification; failed ones are tried again",
    ["outcome"],
  )
  // All labels are there from the start: without them, the first failure is no increase for an alert.
  for (const outcome of ["delivered", "failed", "gave_up"]) attempts.of(outcome)
  return (outcome) => attempts.of(outcome).add()
}

function triggerCounts(make: Instruments): Metrics["triggered"] {
  const triggered = make.counter("wire_trigger_total", "What became of due times and deliveries", [
    "workflow",
    "name",
    "outcome",
  ])
  const lag = make.histogram("wire_trigger_lag_seconds", "Time from a due time to the start of its run", lagSeconds)
  return (workflow, name, outcome, lagMs) => {
    // All are there from the first on: rates are computed from all.
    for (const one of triggerOutcomes) triggered.of(workflow, name, one)
    triggered.of(workflow, name, outcome).add()
    if (lagMs !== null) lag.of().observe(Math.max(0, lagMs) / 1000)
  }
}

/** A workflow, and a name and a value that its file declares. */
function scoreCounts(make: Instruments, labelOf: (workflow: string | null) => string): Metrics["scored"] {
  const values = new BoundedLabels(maxScores)
  const total = make.counter("wire_score_total", "Results of scores that are booleans or values of an enum", [
    "workflow",
    "name",
    "value",
  ])
  // Without bounds: what matters is wire_score_sum and wire_score_count.
  const numbers = make.histogram("wire_score", "Results of scores that are numbers", [], ["workflow", "name"])
  return (workflow, name, value) => {
    const of = labelOf(workflow === "" ? null : workflow)
    if (typeof value === "number") {
      const known = values.of({ of, name, value: "" })
      numbers.of(known.of, known.name).observe(value)
      return
    }
    const known = values.of({ of, name, value: String(value) })
    total.of(known.of, known.name, known.value).add()
  }
}

/** The figures of this process that other code counts. */
function processGauges(make: Instruments, { active, queued, streams, isAlone, clock }: LiveCounts): void {
  make.liveGauge("wire_runs_active", "Runs under way here", active)
  make.liveGauge("wire_runs_queued", "Runs that wait for their turn here", queued)
  make.liveGauge("wire_streams_open", "Open event streams", streams)
  // Alert rules name them: of several processes, their parent has the figures.
  if (isAlone) {
    make.liveGauge("wire_processes", "Processes that serve", () => 1)
    make.counter("wire_process_restarts_total", "Processes that ended and were started again").of()
  }
  make.liveGauge(
    "wire_clock_offset_seconds",
    "How far the clock of this process is ahead of the store's time; negative: behind it",
    () => clock.aheadMs / 1000,
  )
}

function pacedGauge(make: Instruments, { paced }: LiveCounts): () => void {
  const waiting = make.gauge("wire_rate_waiting", "Model calls that wait for a rate or for a pause of their backend", [
    "provider",
    "host",
  ])
  const hosts = new BoundedLabels()
  return () => {
    waiting.reset()
    for (const { kind, host, count } of paced()) waiting.inc(hosts.of({ provider: kind, host }), count)
  }
}

function fileGauges(make: Instruments, { files }: LiveCounts): () => Promise<void> {
  const bytes = make.gauge("wire_files_bytes", "Bytes of all files in the store, of all replicas")
  const stored = make.counter("wire_files_total", "Files that were stored here").of()
  let counted = 0
  return async () => {
    try {
      const found = await files()
      bytes.set(found.bytes)
      stored.add(found.added - counted)
      counted = found.added
    } catch {
      bytes.remove()
    }
  }
}

/** Where a budget holds for several callers, the one that has used the most counts. */
function budgetGauge(make: Instruments, { budgets }: LiveCounts): () => Promise<void> {
  const used = make.gauge(
    "wire_budget_used_ratio",
    "The part of a budget that is used, from 0; of those of `*` that of the caller who has used the most",
    ["budget"],
  )
  return async () => {
    try {
      const found = await budgets()
      used.reset()
      const most = new Map<string, number>()
      for (const { path, ratio } of found) most.set(path, Math.max(ratio, most.get(path) ?? 0))
      for (const [budget, ratio] of most) used.set({ budget }, ratio)
    } catch {
      used.reset()
    }
  }
}

function releaseGauge(make: Instruments, { releases }: LiveCounts): () => Promise<void> {
  const stopped = make.gauge(
    "wire_release_stopped",
    "1 where the candidate of a workflow is stopped, 0 where it gets traffic",
    ["workflow"],
  )
  return async () => {
    try {
      const found = await releases()
      stopped.reset()
      for (const one of found) stopped.set({ workflow: one.workflow }, one.stopped ? 1 : 0)
    } catch {
      stopped.reset()
    }
  }
}

/** Read together by the function that this returns; without values while the store fails. */
function waitingGauges(make: Instruments, { waiting, clock }: LiveCounts): () => Promise<void> {
  const runs = make.gauge("wire_runs_waiting", "Runs in the store that wait for people, of all replicas")
  const questions = make.gauge("wire_questions_open", "Open questions in the store, of all replicas")
  const oldest = make.gauge("wire_question_oldest_age_seconds", "Age of the oldest open question; 0 without any")
  const waits = make.gauge("wire_waits_open", "Open waits for times and events in the store, of all replicas", ["kind"])
  return async () => {
    try {
      const { runs: parked, open } = await waiting()
      const { count, oldest_at } = open.question
      runs.set(parked)
      questions.set(count)
      for (const kind of ["time", "event"] as const) waits.set({ kind }, open[kind].count)
      oldest.set(oldest_at === null ? 0 : Math.max(0, (clock.now() - oldest_at) / 1000))
    } catch {
      for (const gauge of [runs, questions, oldest]) gauge.remove()
      waits.reset()
    }
  }
}
