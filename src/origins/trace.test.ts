import assert from "node:assert/strict"
import { test } from "node:test"
import type { EventData, EventType } from "../log/events.ts"
import { reduce } from "../log/reduce.ts"
import type { RunState, SeenEvent } from "../log/run-state.ts"
import { initialState } from "../log/run-state.ts"
import { compile } from "../compile.ts"
import { noUsage, showUsage } from "../log/usage.ts"
import { LineMap } from "../source/line-map.ts"
import type { TracedProgram } from "./template.ts"
import { legendOf, shownPieces } from "../../playground/trace/legend.ts"
import { requestTracer, traceInstruction } from "./trace-request.ts"

const source = `input { files: [{ path: string, patch: string }] topic: string }
secrets { key: string }
provider p from openai { endpoint: "demo" }
mcp s { endpoint: "https://mcp.example.org" }
tool find from mcp.s.tool.find
model m from p { id: "demo" }
agent review for { path, patch } in input.files {
    model: model.m
    dynamic { label: "file {{ path }}" }
    uses: [tool.find]
    system: "Be brief about {{ input.topic }}."
    instruction: """
    Review {{ dynamic.label }}:
    {{ patch }}
    Nothing else.
    """
    output { comment: string }
}
agent write {
    model: model.m
    instruction: "Sum up {{ agent.review.*.comment }} {{ length(input.topic) }} for {{ input.topic }}"
    output { text: string }
}
output {
    report: { text: agent.write.text }
    first: input.files[0]?.path
}
`
const input = { files: [{ path: "src/clock.ts", patch: "+ return clock.now()" }], topic: "time" }
const instruction = "Review file src/clock.ts:\n+ return clock.now()\nNothing else."

function ran(): { readonly state: RunState; readonly traced: TracedProgram } {
  const { program, plan } = compile(source)
  assert.ok(plan !== undefined)
  const state = initialState()
  let id = 0
  const take = <T extends EventType>(type: T, data: EventData[T]): void => {
    id++
    reduce(state, { id, type, data: { ...data, at: new Date(1_000_000 + id).toISOString() } } as SeenEvent)
  }
  const usage = {
    input_tokens: 1,
    output_tokens: 1,
    cached_tokens: 0,
    written_tokens: 0,
    reasoning_tokens: 0,
    cost: null,
  }
  const done = { usage, cached: false, duration_ms: 1 }
  const calls = [{ turn: 1, attempt: 1, started_at: new Date(1_000_002).toISOString(), duration_ms: 1, model: "m" }]
  take("workflow_planned", {
    nodes: plan.nodes.map(({ id: node, kind, name, depends_on }) => ({ id: node, kind, name, depends_on })),
  })
  take("agent_loop_started", { agent: "review", iterations: 1 })
  take("agent_started", { agent: "review", iteration: 0, model: "demo", tools: ["find"], instruction })
  const tool = { agent: "review", iteration: 0, tool: "find", server: "s", call_id: "1" }
  take("tool_call_started", { ...tool, arguments: { q: "clock" } })
  take("tool_call_completed", { ...tool, result: "The wall clock jumps twice a year", duration_ms: 1 })
  const comment = { comment: "Because the wall clock jumps twice a year, use a port." }
  take("agent_completed", { agent: "review", iteration: 0, output: comment, ...done, calls })
  take("agent_loop_completed", { agent: "review", iterations: 1, duration_ms: 1 })
  const written = `Sum up ${JSON.stringify([comment.comment])} 4 for time`
  take("agent_started", { agent: "write", model: "demo", tools: [], instruction: written })
  const text = "The wall clock jumps twice a year. Buy bread."
  take("agent_completed", { agent: "write", output: { text }, ...done, calls })
  const result = { report: { text }, first: "src/clock.ts" }
  take("workflow_completed", { output: { result }, usage, duration_ms: 9 })
  return { state, traced: { program, plan, lines: new LineMap(source) } }
}

function lineWith(text: string): number {
  return source.split("\n").findIndex((line) => line.includes(text)) + 1
}

test("each character of a rendered instruction has its origin: lines of the source, items of a loop, values inside of values", () => {
  const { state, traced } = ran()
  const span = state.spans.find(({ kind }) => kind === "iteration")
  assert.ok(span !== undefined)
  const pieces = traceInstruction(traced, input, state, span) ?? []
  assert.equal(pieces.map(({ text }) => text).join(""), instruction)
  assert.deepEqual(
    pieces.map(({ text, origin }) => [text, origin?.label]),
    [
      ["Review ", `line ${lineWith("Review {{")}`],
      ["file ", `line ${lineWith('"file {{ path }}"')}`],
      ["src/clock.ts", "input.files[0].path"],
      [":\n", `line ${lineWith("Review {{")}`],
      ["+ return clock.now()", "input.files[0].patch"],
      ["\n", `line ${lineWith("    {{ patch }}")}`],
      ["Nothing else.", `line ${lineWith("Nothing else.")}`],
    ],
  )
})

test("what came from the round before, and messages that were said before, have their origins", () => {
  const text = `input { history: [{ role: enum { user, assistant }, content: string }] topic: string }
provider p from openai { endpoint: "demo" }
model m from p { id: "demo" }
agent revise {
    model: model.m
    messages: input.history
    instruction: "Improve {{ previous?.text ?? input.topic }}. {{ previous?.advice ?? "Go on." }}"
    repeat { until: round >= 2, at_most: 3 }
    output { text: string, advice: string }
}
output { text: agent.revise.text }
`
  const { program, plan } = compile(text)
  assert.ok(plan !== undefined)
  const state = initialState()
  let id = 0
  const take = <T extends EventType>(type: T, data: EventData[T]): void => {
    id++
    reduce(state, { id, type, data: { ...data, at: new Date(1_000_000 + id).toISOString() } } as SeenEvent)
  }
  const about = { agent: "revise", model: "demo", tools: [] }
  const done = { usage: showUsage(noUsage), cached: false, duration_ms: 1, calls: [] }
  take("agent_loop_started", { agent: "revise", iterations: 3 })
  take("agent_started", { ...about, iteration: 0, instruction: "Improve owls. Go on." })
  take("agent_completed", { agent: "revise", iteration: 0, output: { text: "Owls fly", advice: "Say when." }, ...done })
  take("agent_started", { ...about, iteration: 1, instruction: "Improve Owls fly. Say when." })
  const traced = { program, plan, lines: new LineMap(text) }
  const given = { history: [{ role: "user", content: "Tell me of birds" }], topic: "owls" }
  const rounds = state.spans.filter(({ kind }) => kind === "iteration")
  const labels = rounds.map((span) =>
    (traceInstruction(traced, given, state, span) ?? []).map(({ text, origin }) => [text, origin?.kind, origin?.label]),
  )
  assert.deepEqual(labels[0]?.[1], ["owls", "input", "input.topic"])
  assert.deepEqual(labels[1]?.[1], ["Owls fly", "step", "agent.revise[0].text"])
  assert.deepEqual(labels[1]?.[3], ["Say when.", "step", "agent.revise[0].advice"])
  take("model_call_started", {
    agent: "revise",
    iteration: 1,
    turn: 1,
    attempt: 1,
    model: "demo",
    reserved: { tokens: 1, cost: null },
  })
  const call = state.spans.length - 1
  assert.deepEqual(requestTracer(traced, given, state, call)("Tell me of birds")?.[0]?.origin, {
    kind: "input",
    label: "input.history[0].content",
  })
})

test("a part that the page cannot compute is what stands between its neighbours", () => {
  const { state, traced } = ran()
  const span = state.spans.find(({ kind, name }) => kind === "agent" && name === "write")
  assert.ok(span !== undefined)
  const pieces = traceInstruction(traced, input, state, span) ?? []
  const found = pieces.map(({ text, origin }) => [text, origin?.kind, origin?.label])
  assert.deepEqual(found[1]?.slice(1), ["step", "agent.review.*.comment"])
  assert.deepEqual(found[3], ["4", "computed", "length(input.topic)"])
  assert.deepEqual(found.at(-1), ["time", "input", "input.topic"])
})

test("an instruction that another text gave has no pieces", () => {
  const { state, traced } = ran()
  const span = state.spans.find(({ kind }) => kind === "iteration")
  assert.ok(span !== undefined)
  assert.equal(traceInstruction(traced, input, state, { ...span, instruction: "Something else." }), null)
})

test("the texts of a request are traced: the system text to its parts, the result of a tool as a whole", () => {
  const { state, traced } = ran()
  const at = state.spans.findIndex(({ kind }) => kind === "model_call")
  const trace = requestTracer(traced, input, state, at)
  assert.deepEqual(
    trace("Be brief about time.")?.map(({ text, origin }) => [text, origin?.label]),
    [
      ["Be brief about ", `line ${lineWith("Be brief")}`],
      ["time", "input.topic"],
      [".", `line ${lineWith("Be brief")}`],
    ],
  )
  assert.deepEqual(trace("The wall clock jumps twice a year")?.[0]?.origin, {
    kind: "tool",
    label: "tool.find",
    node: "agent.review",
    isGuess: true,
  })
  assert.equal(trace("message"), null)
})

test("a long prompt has a short legend, its lines in one entry, and no more marked pieces than a page can show", () => {
  const { state, traced } = ran()
  const span = state.spans.find(({ kind }) => kind === "iteration")
  assert.ok(span !== undefined)
  const pieces = traceInstruction(traced, input, state, span) ?? []
  const [first, last] = [lineWith('"file {{ path }}"'), lineWith("Nothing else.")]
  assert.deepEqual(
    legendOf(pieces).map(({ label }) => label),
    [`lines ${first}–${last}`, "input.files[0].path", "input.files[0].patch"],
  )
  const many = Array.from({ length: 20_000 }, (_, at) => ({
    text: `${at}\n`,
    origin: { kind: "source" as const, label: `line ${at}`, line: at },
  }))
  assert.equal(legendOf(many).length, 1)
  const shown = shownPieces(many)
  assert.ok(shown.length < 1_000)
  assert.equal(shown.map(({ text }) => text).join(""), many.map(({ text }) => text).join(""))
})
