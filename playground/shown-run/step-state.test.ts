import assert from "node:assert/strict"
import { test } from "node:test"
import type { EventData, EventType, WireError } from "../../src/log/events.ts"
import type { RunState, SeenEvent } from "../../src/log/run-state.ts"
import { reduce } from "../../src/log/reduce.ts"
import { initialState } from "../../src/log/run-state.ts"
import { groupStatus, nodeStatus } from "./node-status.ts"
import type { Known } from "./step-state.ts"
import { failedSpan, nodeState, placeWithItem, retriesOf, spanState } from "./step-state.ts"

const usage = {
  input_tokens: 1,
  output_tokens: 1,
  cached_tokens: 0,
  written_tokens: 0,
  reasoning_tokens: 0,
  cost: null,
}
const error: WireError = {
  kind: "provider_error",
  message: "The backend answered 500",
  issues: [{ path: "agent.review", message: "The backend answered 500", upstream_status: 500 }],
}
const iso = (ms: number): string => new Date(1_000_000 + ms).toISOString()

type Taken = { [T in EventType]: readonly [T, EventData[T]] }[EventType]

/** The state of a run with the agents `review` and `sum`, after these events. */
function stateAfter(...events: readonly Taken[]): RunState {
  const state = initialState()
  let id = 0
  const take = (type: string, data: object): void => {
    id++
    reduce(state, { id, type, data: { ...data, at: iso(id * 10) } } as SeenEvent)
  }
  const node = (id: string, kind: string, name: string, depends_on: string[]) => ({ id, kind, name, depends_on })
  const review = node("agent.review", "agent", "review", [])
  const sum = node("agent.sum", "agent", "sum", ["agent.review"])
  take("workflow_planned", { nodes: [review, sum, node("output", "output", "output", ["agent.sum"])] })
  for (const [type, data] of events) take(type, data)
  return state
}

const started = (iteration?: number) =>
  [
    "agent_started",
    { agent: "review", ...(iteration !== undefined && { iteration }), model: "m", tools: [], instruction: "x" },
  ] as const
const call = (turn: number, attempt: number, ms: number) => ({
  turn,
  attempt,
  started_at: iso(ms),
  duration_ms: 5,
})
const done = (iteration?: number) =>
  [
    "agent_completed",
    {
      agent: "review",
      ...(iteration !== undefined && { iteration }),
      output: {},
      cached: false,
      duration_ms: 5,
      usage,
      calls: [call(1, 1, 20)],
    },
  ] as const

/** Each view's word for every step: the graph's for the nodes, the timeline's for the bars. */
function words(state: RunState, known: Known = state): { graph: string[]; timeline: string[] } {
  return {
    graph: state.nodes.map((node) => `${node.id} ${nodeStatus(node, known, 0).word}`),
    timeline: state.spans.map((span) => `${span.kind}${span.iteration ?? ""} ${spanState(span, known)}`),
  }
}

test("a loop that failed has failed in the graph and in the timeline; what came after was not reached", () => {
  const state = stateAfter(
    ["agent_loop_started", { agent: "review", iterations: 3 }],
    started(0),
    started(1),
    started(2),
    done(0),
    ["agent_failed", { agent: "review", iteration: 1, error, duration_ms: 5, calls: [call(1, 1, 30)] }],
    ["workflow_failed", { error, duration_ms: 90 }],
  )
  const { graph, timeline } = words(state)
  assert.deepEqual(graph, ["agent.review failed 1/3", "agent.sum not reached", "output not reached"])
  assert.deepEqual(timeline, [
    "loop failed",
    "iteration0 completed",
    "iteration1 failed",
    "iteration2 cancelled",
    "model_call0 completed",
    "model_call1 failed",
  ])
  assert.equal(placeWithItem("agent.review", state), "agent.review[1]")
  assert.equal(placeWithItem("agent.review.instruction", state), "agent.review[1].instruction")
  assert.equal(placeWithItem("agent.reviewer", state), "agent.reviewer")
  assert.equal(failedSpan(state), 2)
  // A limit of the run names no step.
  const limit = {
    kind: "limit_exceeded" as const,
    message: "No calls left",
    issues: [{ path: "options.limits.model_calls", message: "" }],
  }
  const ended = stateAfter(
    started(),
    ["agent_failed", { agent: "review", error: limit, duration_ms: 5, calls: [] }],
    ["workflow_failed", { error: limit, duration_ms: 9 }],
  )
  assert.equal(failedSpan(ended), 0)
})

test("of a run whose connection is gone, what had not ended is unknown; what had ended is not", () => {
  const state = stateAfter(["agent_loop_started", { agent: "review", iterations: 3 }], started(0), started(1), done(0))
  const { graph, timeline } = words(state, { finished_at: null, isCut: true })
  assert.deepEqual(graph, ["agent.review unknown 1/3", "agent.sum unknown", "output unknown"])
  assert.deepEqual(timeline, ["loop unknown", "iteration0 completed", "iteration1 unknown", "model_call0 completed"])
  assert.equal(groupStatus(state.nodes, { finished_at: null, isCut: true }, 1_001_000).state, "unknown")
})

test("a wait for a time or an event waits, until it ends", () => {
  const waited = { id: "w1", name: "paid", event: "payment.settled", key: "A-17", expires_at: iso(9_000) }
  const state = stateAfter(["wait_started", waited])
  assert.deepEqual(words(state).timeline, ["wait waiting"])
  assert.deepEqual(state.spans[0]?.awaited, waited)
  const ended = stateAfter(
    ["wait_started", waited],
    ["wait_ended", { id: "w1", name: "paid", because: "event", output: { amount: 5 } }],
  )
  assert.deepEqual(words(ended).timeline, ["wait completed"])
  const cancelled = stateAfter(["wait_started", waited], ["workflow_cancelled", { duration_ms: 9 }])
  assert.deepEqual(words(cancelled).timeline, ["wait cancelled"])
})

test("a call whose answer was not used has failed, also where its step went on to succeed", () => {
  const calls = [call(1, 1, 20), call(1, 2, 30), call(2, 1, 40)]
  const state = stateAfter(
    started(),
    ["agent_retried", { agent: "review", attempt: 2, reason: "The backend answered 503", delay_ms: 2 }],
    ["agent_completed", { agent: "review", output: {}, cached: false, duration_ms: 5, usage, calls }],
  )
  assert.deepEqual(words(state).timeline, [
    "agent completed",
    "retry retried",
    "model_call failed",
    "model_call completed",
    "model_call completed",
  ])
  assert.equal(retriesOf(state.nodes[0] ?? assert.fail()), 1)
})

test("a step that is tried again says so until it is done; items of a loop are not retries", () => {
  const retry = ["agent_retried", { agent: "review", attempt: 2, reason: "busy", delay_ms: 2 }] as const
  const again = stateAfter(started(), retry)
  assert.equal(nodeState(again.nodes[0] ?? assert.fail(), again), "retried")
  assert.equal(nodeState(again.nodes[1] ?? assert.fail(), again), "waiting")

  const items = Array.from({ length: 200 }, (_, at) => [started(at), done(at)]).flat()
  const loop = stateAfter(["agent_loop_started", { agent: "review", iterations: 200 }], ...items)
  const [review] = loop.nodes
  assert.ok(review !== undefined)
  assert.equal(retriesOf(review), 0)
  assert.doesNotMatch(nodeStatus(review, loop, 0).figures, /retr/)
  const retried = stateAfter(["agent_loop_started", { agent: "review", iterations: 2 }], started(0), retry, started(1))
  assert.match(nodeStatus(retried.nodes[0] ?? assert.fail(), retried, 0).figures, /1 retry/)
})

test("results that a re-run took over are not missing attempts", () => {
  const state = stateAfter(
    ["agent_loop_started", { agent: "review", iterations: 2 }],
    ["step_reused", { step: "agent.review", iteration: 0, output: {}, run_id: "r" }],
    started(1),
    ["agent_retried", { agent: "review", iteration: 1, attempt: 2, reason: "busy", delay_ms: 2 }],
  )
  assert.equal(retriesOf(state.nodes[0] ?? assert.fail()), 1)
  const whole = stateAfter(["step_reused", { step: "agent.review", output: {}, run_id: "r" }])
  assert.equal(retriesOf(whole.nodes[0] ?? assert.fail()), 0)
  // They did not run: neither view says "done".
  assert.deepEqual(words(whole).graph[0], "agent.review reused")
  assert.deepEqual(words(whole).timeline, ["agent reused"])
  assert.match(nodeStatus(state.nodes[0] ?? assert.fail(), state, 0).figures, /1 reused/)
})

test("a closed group of steps has the state of what matters most inside it", () => {
  const states = (...events: readonly Taken[]): string => {
    const state = stateAfter(...events)
    const { state: name, word } = groupStatus(state.nodes.slice(0, 2), state, 1_001_000)
    return `${name}: ${word}`
  }
  assert.equal(states(), "waiting: waiting 0/2")
  assert.equal(states(started()), "running: running 0/2")
  // Between two steps.
  assert.equal(states(started(), done()), "running: running 1/2")
  const failed = ["agent_failed", { agent: "review", error, duration_ms: 5, calls: [] }] as const
  assert.equal(states(started(), failed), "failed: failed 0/2")
  assert.equal(states(started(), failed, ["workflow_failed", { error, duration_ms: 9 }]), "failed: failed 0/2")
  assert.equal(states(["workflow_cancelled", { duration_ms: 9 }]), "unreached: not reached 0/2")
  assert.equal(states(started(), ["workflow_cancelled", { duration_ms: 9 }]), "cancelled: cancelled 0/2")
  const skip = ["step_skipped", { step: "agent.sum" }] as const
  assert.equal(states(started(), done(), skip), "completed: done 1/2, 1 skipped")
})
