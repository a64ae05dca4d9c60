import assert from "node:assert/strict"
import { test } from "node:test"
import type { SeenEvent } from "../../src/log/run-state.ts"
import { reduce } from "../../src/log/reduce.ts"
import { initialState } from "../../src/log/run-state.ts"
import { nodeOfSpan, spanLabel, spanOfNode } from "../../src/log/span-names.ts"
import { compile } from "../../src/compile.ts"
import { ItemPreviews } from "./item-preview.ts"
import { Rows } from "./rows.ts"
import { markLabel, scaleFor } from "./scale.ts"

const usage = { input_tokens: 1, output_tokens: 1, cached_tokens: 0, written_tokens: 0, reasoning_tokens: 0 }
const at = (ms: number): string => new Date(1_000_000 + ms).toISOString()

/** A run of one loop with so many iterations, each with one model call. */
function looped(iterations: number) {
  const state = initialState()
  let id = 0
  const take = (event: Omit<SeenEvent, "id">): void => void reduce(state, { id: ++id, ...event } as SeenEvent)
  take({ type: "workflow_started", data: {} })
  const nodes = [{ id: "agent.step", kind: "agent" as const, name: "step", depends_on: [] }]
  take({ type: "workflow_planned", data: { nodes, at: at(0) } })
  take({ type: "agent_loop_started", data: { agent: "step", iterations, at: at(1) } })
  for (let iteration = 0; iteration < iterations; iteration++) {
    const about = { agent: "step", iteration }
    take({ type: "agent_started", data: { ...about, model: "m", tools: [], instruction: "x", at: at(2 + iteration) } })
    const calls = [{ turn: 1, attempt: 1, started_at: at(2 + iteration), duration_ms: 5 }]
    const done = { ...about, output: {}, cached: false, duration_ms: 5, usage, calls }
    take({ type: "agent_completed", data: { ...done, at: at(10 + iteration) } })
  }
  return { state, take }
}

test("a parent comes before its children, and says how deep they are", () => {
  const { state } = looped(2)
  const rows = new Rows(state).list()
  assert.deepEqual(
    rows.map((row) => [spanLabel(state.spans[row.at] ?? assert.fail()), row.level]),
    [
      ["agent.step", 1],
      ["agent.step[0]", 2],
      ["model call", 3],
      ["agent.step[1]", 2],
      ["model call", 3],
    ],
  )
})

test("of many iterations each is closed, until it is opened", () => {
  const { state } = looped(50)
  const rows = new Rows(state)
  assert.equal(rows.list().length, 51)
  const first = rows.list()[1]
  assert.ok(first?.isParent === true && !first.isOpen)
  rows.toggle(first.at)
  assert.equal(rows.list().length, 52)
  rows.toggle(first.at)
  assert.equal(rows.list().length, 51)
})

test("a span that lies in something closed is uncovered", () => {
  const { state } = looped(50)
  const rows = new Rows(state)
  const call = state.spans.findIndex((span) => span.kind === "model_call" && span.iteration === 30)
  assert.ok(!rows.list().some((row) => row.at === call))
  rows.uncover(call)
  assert.ok(rows.list().some((row) => row.at === call))
  assert.equal(nodeOfSpan(state, call), "agent.step")
  assert.equal(spanOfNode(state, "agent.step"), 0)
  assert.equal(spanOfNode(state, "output"), undefined)
})

test("rows grow with the run without looking at old spans again", () => {
  const { state, take } = looped(3_000)
  // Counts how often a span is read.
  let reads = 0
  const spans = new Proxy(state.spans, {
    get: (list, key) => {
      if (typeof key === "string" && /^\d+$/.test(key)) reads++
      return Reflect.get(list, key) as unknown
    },
  })
  const rows = new Rows({ ...state, spans })
  rows.list()
  assert.ok(reads >= state.spans.length)
  const shown = rows.list().length
  assert.ok(shown < state.spans.length)
  reads = 0
  take({ type: "agent_started", data: { agent: "late", model: "m", tools: [], instruction: "x", at: at(9_000) } })
  // The step, and the call that it waits for.
  assert.equal(rows.list().length, shown + 2)
  assert.ok(reads <= 3 * shown + 10, `${reads} spans were read to show ${shown} rows and to add one`)
})

test("a call of a workflow has the steps inside as its children, and opens for a selected one", () => {
  const { state, take } = looped(0)
  const call = (scope: string, site: string, ms: number, outer?: string): void => {
    const about = { workflow: scope.replace(/^.*\/|@.*$/g, ""), call_id: scope, scope, site, input: {} }
    take({ type: "workflow_call_started", data: { ...about, at: at(ms) } })
    const nodes = [{ id: "agent.deep", kind: "agent" as const, name: "deep", depends_on: [] }]
    take({ type: "workflow_planned", data: { nodes, scope, at: at(ms) } })
    assert.equal(outer === undefined || scope.startsWith(`${outer}/`), true)
  }
  call("first@dynamic.x", "dynamic.x", 20)
  call("first@dynamic.x/second@dynamic.y", "dynamic.y", 30, "first@dynamic.x")
  const started = { agent: "deep", model: "m", tools: [], instruction: "x", scope: "first@dynamic.x/second@dynamic.y" }
  take({ type: "agent_started", data: { ...started, at: at(40) } })
  const rows = new Rows(state)
  const list = (): string[] =>
    rows.list().map(({ at: position, scope, level, isCall }) => {
      const label = spanLabel(rows.stateOf(scope)?.spans[position] ?? assert.fail())
      return `${level} ${isCall === true ? "call" : label}`
    })
  const [loop, first, second, deep, waited] = list()
  assert.deepEqual(
    [loop, first, second, deep],
    ["1 agent.step", "1 workflow.first", "2 workflow.second", "3 agent.deep"],
  )
  assert.equal(waited, "4 call")
  const outer = rows.list()[1] ?? assert.fail()
  rows.toggle(outer.at, outer.scope)
  assert.deepEqual(list(), ["1 agent.step", "1 workflow.first"])
  rows.uncover(0, "first@dynamic.x/second@dynamic.y")
  assert.deepEqual(list(), [loop, first, second, deep, waited])
})

test("a step that runs has a row for the call that it waits for, until one of its parts runs", () => {
  const { state, take } = looped(0)
  const started = { agent: "late", model: "m", tools: [], instruction: "x" }
  take({ type: "agent_started", data: { ...started, at: at(100) } })
  const rows = new Rows(state)
  const list = (): string[] =>
    rows
      .list()
      .map(({ at: position, isCall }) => (isCall === true ? "call" : spanLabel(state.spans[position] ?? assert.fail())))
  assert.deepEqual(list(), ["agent.step", "agent.late", "call"])
  assert.equal(rows.callStart(1), 1_000_100)
  const tool = { agent: "late", tool: "find", server: "s", call_id: "1" }
  take({ type: "tool_call_started", data: { ...tool, arguments: {}, at: at(110) } })
  assert.deepEqual(list(), ["agent.step", "agent.late", "tool.find"])
  take({ type: "tool_call_completed", data: { ...tool, result: 1, duration_ms: 5, at: at(120) } })
  assert.deepEqual(list(), ["agent.step", "agent.late", "tool.find", "call"])
  assert.equal(rows.callStart(1), 1_000_120)
  take({ type: "workflow_cancelled", data: { duration_ms: 200, at: at(200) } })
  assert.deepEqual(list(), ["agent.step", "agent.late", "tool.find"])
})

test("an axis has a few round marks, room to grow while it is live, and labels that fit", () => {
  assert.deepEqual(scaleFor(4_000, false, 160), {
    from: 0,
    total: 4_000,
    marks: [0, 1_000, 2_000, 3_000],
  })
  assert.deepEqual(scaleFor(2_280, false, 161).marks.map(markLabel), ["0", "1 s"])
  assert.deepEqual([500, 1_500, 2_000, 10_000].map(markLabel), ["500 ms", "1.5 s", "2 s", "10 s"])
  const live = scaleFor(4_000, true, 400)
  assert.ok(live.total > 4_000 && live.total <= 5_000)
  for (const width of [60, 138, 270, 400, 1_200]) {
    for (const elapsed of [0, 1, 7, 47, 99, 297, 806, 1_234, 59_999, 86_400_000]) {
      const { total, marks } = scaleFor(elapsed, true, width)
      assert.ok(total >= elapsed && marks.length >= 1 && marks.length <= 10, `${elapsed}: ${marks.join()}`)
      const ends = marks.map((mark) => (mark / total) * width + markLabel(mark).length * 7)
      for (const [position, end] of ends.entries()) {
        const next = marks[position + 1]
        const most = next === undefined ? width : (next / total) * width
        assert.ok(end <= most, `${elapsed} ms on ${width} px: ${marks.map(markLabel).join(" | ")}`)
      }
    }
  }
})

test("the items of a loop are read from the input, from literals and from outputs, else from the instructions", () => {
  const source = (items: string): string => `input { files: [{ path: string }] }
provider p from openai { endpoint: "demo" }
model m from p { id: "demo" }
agent step for item in ${items} { model: model.m  instruction: "Do {{ item }}"  output { text: string } }
output { all: agent.step.*.text }
`
  const { state } = looped(2)
  const spans = state.spans.flatMap((span, position) => (span.kind === "iteration" ? [position] : []))
  const previews = (items: string): string[] => {
    const { plan } = compile(source(items))
    const found = new ItemPreviews(plan ?? null, { files: [{ path: "a.ts" }, { path: "b.ts" }] }, state)
    return spans.map((position) => found.of(position))
  }
  assert.deepEqual(previews("input.files.*.path"), ["a.ts", "b.ts"])
  assert.deepEqual(previews("input.files"), ["a.ts", "b.ts"])
  assert.deepEqual(previews('["first", "second"]'), ["first", "second"])
  for (const [at, position] of spans.entries()) {
    const span = state.spans[position]
    if (span !== undefined) span.instruction = `Review the file src/${at}.ts now`
  }
  const unknown = new ItemPreviews(null, {}, state)
  spans.forEach((position) => unknown.of(position))
  assert.deepEqual(
    spans.map((position) => unknown.of(position)),
    ["src/0.ts now", "src/1.ts now"],
  )
})
