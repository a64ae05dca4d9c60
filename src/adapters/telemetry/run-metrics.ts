import type { LogEvent } from "../../log/events.ts"
import { eventTaker, type EventHandlers } from "../../log/event-handlers.ts"
import type { ReplayData } from "../../log/replay-data.ts"
import { endedWork } from "../../log/usage-after.ts"
import { BoundedLabels } from "./bounded-labels.ts"
import type { Counter, Histogram } from "./counters.ts"
import type { Instruments } from "./instruments.ts"
import type { ModelCounters } from "./model-counters.ts"
import type { RunObserver } from "./run-observer.ts"

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600]

/** Run metrics: observes events, and counts runs, steps, calls, questions and what they use. */
export function runMetrics(
  make: Instruments,
  labelOf: (workflow: string) => string,
  queued: (ms: number) => void,
  models: ModelCounters,
): RunObserver {
  const count = eventTaker<string, LogEvent>(
    stepCounts(make),
    callCounts(make),
    questionCounts(make),
    batchCounts(make),
    simpleCounts(make),
  )
  const callTime = make.histogram("wire_model_call_duration_seconds", "Time of one call of a model backend", seconds)
  const ends = new RunEnds(make)
  /** Labels of the named workflows whose runs this process works on, and the sides of the runs, by run. */
  const named = new Map<string, readonly [workflow: string, release: string]>()
  const countEvent = (run_id: string, event: LogEvent): void => {
    const [workflow, release] = named.get(run_id) ?? unnamed
    count(run_id, event, 0)
    const work = endedWork(event)
    if (work !== null) {
      // A call of a batch takes hours, and holds nothing meanwhile.
      for (const call of work.calls) if (call.batch === undefined) callTime.of().observe(call.duration_ms / 1000)
      models.count(work.calls, workflow, release)
    }
    if (event.type === "agent_fallback") {
      models.fellBack((event.kept as ReplayData<"agent_fallback"> | undefined)?.calls ?? [])
    }
    if (ends.count(event, workflow, release) || event.type === "run_waiting") named.delete(run_id)
  }
  return {
    started: (_run_id, queuedMs) => queued(queuedMs),
    taken({ run_id, workflow }) {
      if (workflow !== null) named.set(run_id, [labelOf(workflow.name), workflow.release ?? ""])
    },
    left: (run_id) => void named.delete(run_id),
    appended(run_id, events) {
      for (const event of events) countEvent(run_id, event)
    },
  }
}

const unnamed = ["", ""] as const

type Counts = EventHandlers<string, LogEvent>

function stepCounts(make: Instruments): Counts {
  const agents = make.counter("wire_agents_total", "Ended agent steps", ["outcome"])
  const completed = agents.of("completed")
  const cached = agents.of("cached")
  const failed = agents.of("failed")
  const skipped = agents.of("skipped")
  return {
    agent_completed: (_, { data }) => (data.cached ? cached : completed).add(),
    agent_failed: () => failed.add(),
    step_skipped(_, { data }) {
      // A step that failed is counted as failed.
      if (data.error === undefined) skipped.add()
    },
  }
}

function callCounts(make: Instruments): Counts {
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
  type Outcome = "completed" | "failed"
  type ToolCall = { readonly server: string; readonly tool: string; readonly duration_ms: number }
  const called = (call: ToolCall, outcome: Outcome): void => {
    const { server, tool } = toolNames.of({ server: call.server, tool: call.tool })
    // Both outcomes are there from the first call: rates are computed from both.
    const both = { completed: tools.of(server, tool, "completed"), failed: tools.of(server, tool, "failed") }
    both[outcome].add()
    toolTime.of(server, tool).observe(call.duration_ms / 1000)
  }
  type InnerCall = { readonly workflow: string; readonly duration_ms: number }
  const calledInside = ({ workflow, duration_ms }: InnerCall, outcome: Outcome): void => {
    const label = calledNames.of({ name: workflow }).name
    const both = { completed: inner.of(label, "completed"), failed: inner.of(label, "failed") }
    both[outcome].add()
    innerTime.of(label).observe(duration_ms / 1000)
  }
  return {
    tool_call_completed: (_, { data }) => called(data, "completed"),
    tool_call_failed: (_, { data }) => called(data, "failed"),
    workflow_call_completed: (_, { data }) => calledInside(data, "completed"),
    workflow_call_failed: (_, { data }) => calledInside(data, "failed"),
  }
}

function questionCounts(make: Instruments): Counts {
  const asked = make.counter("wire_questions_asked_total", "Questions asked")
  const settled = make.counter("wire_questions_settled_total", "Questions whose outcome a run took in", ["outcome"])
  // All labels are there from the start: without them, the first failure is no increase for an alert.
  const answered = settled.of("answered")
  const expired = settled.of("expired")
  return {
    question_asked: () => asked.of().add(),
    question_answered: () => answered.add(),
    question_expired: () => expired.add(),
  }
}

function batchCounts(make: Instruments): Counts {
  const batches = make.counter("wire_batches_total", "Batches of model calls, by what became of them", ["event"])
  const items = make.counter("wire_batch_items_total", "Items of batches, by how their model was called", ["way"])
  const [prepared, submitted, repeated] = ["prepared", "submitted", "repeated"].map((word) => batches.of(word))
  // All labels are there from the start.
  const ways = new Map(["batch", "late", "few", "refused"].map((way) => [way, items.of(way)]))
  return {
    batch_prepared: () => prepared?.add(),
    batch_submitted(_, { data }) {
      submitted?.add()
      ways.get("batch")?.add(data.items)
    },
    batch_repeated: () => repeated?.add(),
    batch_left: (_, { data }) => ways.get(data.reason)?.add(data.items),
  }
}

function simpleCounts(make: Instruments): Counts {
  const resumed = make.counter("wire_runs_resumed_total", "Runs taken up again")
  const retries = make.counter("wire_agent_retries_total", "Retries and repairs")
  const hosted = make.counter("wire_hosted_tool_uses_total", "Uses of tools that providers host", ["type"])
  const degraded = make.counter("wire_cache_degraded_total", "Failures of the cache")
  return {
    run_resumed: () => resumed.of().add(),
    hosted_tool_used: (_, { data }) => hosted.of(data.type).add(),
    agent_retried: () => retries.of().add(),
    cache_degraded: () => degraded.of().add(),
  }
}

const statuses = ["completed", "failed", "cancelled"] as const

/** Ended runs, by status, workflow and side of a release. */
class RunEnds {
  readonly #runs: Counter<readonly [string, string, string]>
  readonly #time: Histogram<readonly [string, string, string]>

  constructor(make: Instruments) {
    this.#runs = make.counter("wire_runs_total", "Ended runs", ["status", "workflow", "release"])
    this.#time = make.histogram("wire_run_duration_seconds", "Time from a run's start to its end", seconds, [
      "status",
      "workflow",
      "release",
    ])
    this.#know("", "")
  }

  /** Returns whether the event is the end of a run. */
  count(event: LogEvent, workflow: string, release: string): boolean {
    switch (event.type) {
      case "workflow_completed":
      case "workflow_failed":
      case "workflow_cancelled": {
        const status = event.type.slice("workflow_".length)
        if (workflow !== "") this.#know(workflow, release)
        this.#runs.of(status, workflow, release).add()
        this.#time.of(status, workflow, release).observe(event.data.duration_ms / 1000)
        return true
      }
      default:
        return false
    }
  }

  /** All statuses are there from the first end on: rates are computed from all. */
  #know(workflow: string, release: string): void {
    for (const status of statuses) {
      this.#runs.of(status, workflow, release)
      this.#time.of(status, workflow, release)
    }
  }
}
