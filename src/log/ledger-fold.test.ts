import assert from "node:assert/strict"
import { test } from "node:test"
import type { EventType, LogEvent } from "./events.ts"
import { LedgerFold } from "./ledger-fold.ts"

const hourMs = 3_600_000
const price = { input: 1, cached: 1, written: 1, output: 1, batch: 1, hosted: {} }
const tokens = { cached_tokens: 0, written_tokens: 0, reasoning_tokens: 0 }

/** Takes events that happen in an hour; gives all entries. */
function after(...events: readonly (readonly [hour: number, type: EventType, data: object, kept?: object])[]) {
  const fold = new LedgerFold()
  for (const [index, [hour, type, data, kept]] of events.entries()) {
    const at = new Date(hour * hourMs + 5).toISOString()
    fold.take({ id: index + 1, type, at, data: { ...data, at }, ...(kept && { kept }) } as unknown as LogEvent)
  }
  return fold.rows().map(({ hour, model, runs, tokens: all, cost }) => [hour, model, runs, all, cost])
}

const started = (attempt: number, reserved = 100): readonly ["model_call_started", object, object] => [
  "model_call_started",
  { agent: "a", turn: 1, attempt, model: "m", reserved: { tokens: reserved, cost: null } },
  { id: "id", cost: reserved / 1e6, price },
]
const call = (attempt: number, used: number | null, more: object = {}): object => ({
  turn: 1,
  attempt,
  id: "id",
  started_at: new Date(7 * hourMs).toISOString(),
  ...(used !== null && {
    usage: { input_tokens: used, output_tokens: 0, ...tokens, cost: used / 1e6 },
    format: "text",
  }),
  ...more,
})
const ended = (...calls: readonly object[]): readonly ["agent_completed", object] => [
  "agent_completed",
  { agent: "a", usage: {}, calls },
]

test("a call counts in the hour of its reservation, with what it used", () => {
  assert.deepEqual(after([7, ...started(1)], [9, ...ended(call(1, 30))]), [[7, "id", 1, 30, 30_000]])
  // One that failed used nothing; one without a reservation counts where it began.
  assert.deepEqual(after([7, ...started(1)], [9, ...ended(call(1, null))]), [[7, "id", 1, 0, 0]])
  assert.deepEqual(after([9, ...ended(call(1, 30))]), [[7, "id", 1, 30, 30_000]])
})

test("a call that was cut off counts with its reservation, until the log tells more of it", () => {
  const cut = [[7, ...started(1)] as const, [8, "run_resumed", { reason: "" }] as const]
  assert.deepEqual(after(...cut), [[7, "id", 1, 100, 100_000]])
  const repeated = [...cut, [8, ...started(2)] as const]
  assert.deepEqual(after(...repeated, [9, ...ended(call(2, 30))]), [
    [7, "id", 1, 100, 100_000],
    [8, "id", 0, 30, 30_000],
  ])
  // Its turn was in the log: nothing was lost.
  assert.deepEqual(after(...cut, [9, ...ended(call(1, 30))]), [[7, "id", 1, 30, 30_000]])
  assert.deepEqual(after([7, ...started(1)], [7, "workflow_cancelled", { duration_ms: 1 }]), [
    [7, "id", 1, 100, 100_000],
  ])
  const interrupted = [{ agent: "a", calls: [call(1, 30)] }]
  assert.deepEqual(after([7, ...started(1)], [7, "workflow_cancelled", { duration_ms: 1, interrupted }]), [
    [7, "id", 1, 30, 30_000],
  ])
})

test("a call of a step that goes on counts with what it used, and is not counted again when the step ends", () => {
  const answer = { message: {}, usage: {}, tool_calls: [] }
  const first = { ...answer, calls: [call(1, 30)] }
  const about = { agent: "a", call_id: "c", name: "t" }
  const expected = [[7, "id", 1, 30, 30_000]]
  const waits = [8, "run_waiting", { questions: ["q"] }] as const
  const ways = [
    ["agent_retried", { agent: "a" }, { turn: 1, progress: { new_calls: [call(1, 30)] } }],
    ["agent_fallback", { agent: "a" }, { turn: 1, attempts: 1, calls: [call(1, 30)] }],
    ["tool_call_started", about, { turn: 1, index: 0, answer: first }],
    ["workflow_call_started", about, { file: "x", call: { turn: 1, index: 0, answer: first } }],
    ["question_asked", { id: "q" }, { agent: "a", call: { turn: 1, index: 0, answer: first } }],
  ] as const
  for (const [type, data, kept] of ways) {
    const told = [7, type, data, kept] as const
    assert.deepEqual(after([7, ...started(1)], told, waits), expected, type)
    // A question is asked before its call starts, and both tell of the turn; a crash changes nothing.
    const resumed = [8, "run_resumed", { reason: "" }] as const
    const again = [8, "tool_call_started", about, { turn: 1, index: 0, answer: first }] as const
    assert.deepEqual(after([7, ...started(1)], told, waits, resumed, again), expected, type)
    assert.deepEqual(after([7, ...started(1)], told, again, [9, ...ended(call(1, 30))]), expected, type)
    assert.deepEqual(after(told, [9, ...ended(call(1, 30))]), expected, `${type} without a reservation`)
    assert.deepEqual(after([7, ...started(1)], told, [9, ...started(2)], [9, ...ended(call(1, 30), call(2, 5))]), [
      ...expected,
      [9, "id", 0, 5, 5_000],
    ])
    const interrupted = [{ agent: "a", calls: [call(1, 30)] }]
    const cancelled = [9, "workflow_cancelled", { duration_ms: 1, interrupted }] as const
    assert.deepEqual(after([7, ...started(1)], told, cancelled), expected, type)
  }
})

test("calls at a vendor count with their reservations, until they have answers or are made directly", () => {
  const items = [0, 1].map((iteration) => ({ iteration, attempt: 1, reserved: { tokens: 100, cost: 0.0001 } }))
  const kept = { model: "m", id: "id", price, hash: "", items }
  const batch = [7, "batch_prepared", { agent: "a", batch: "b", items: 2 }, kept] as const
  assert.deepEqual(after(batch), [[7, "id", 1, 200, 200_000]])
  const answered = [30, "agent_completed", { agent: "a", iteration: 0, usage: {}, calls: [call(1, 30)] }] as const
  assert.deepEqual(after(batch, answered), [[7, "id", 1, 130, 130_000]])
  const left = [
    31,
    "batch_left",
    { agent: "a", items: 1, reason: "late" },
    { calls: [{ iteration: 1, attempt: 1 }] },
  ] as const
  assert.deepEqual(after(batch, answered, left), [[7, "id", 1, 30, 30_000]])
  // A crash changes nothing: the vendor goes on.
  assert.deepEqual(after(batch, [8, "run_resumed", { reason: "" }], answered, left), [[7, "id", 1, 30, 30_000]])
})
