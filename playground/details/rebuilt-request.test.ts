import assert from "node:assert/strict"
import { test } from "node:test"
import { compile } from "../../src/compile.ts"
import type { JsonValue } from "../../src/base/json-value.ts"
import type { EventData, EventType } from "../../src/log/events.ts"
import { reduce } from "../../src/log/reduce.ts"
import type { SeenEvent } from "../../src/log/run-state.ts"
import { initialState } from "../../src/log/run-state.ts"
import { errorAfter, reasonAfter, rebuildAnswer, rebuildRequest } from "./rebuilt-request.ts"

const input = { report: "All is well.", number: 7 }
const source = `input { report: string number: integer }
provider p from openai { endpoint: "demo" }
mcp s { endpoint: "https://mcp.example.org" }
tool find from mcp.s.tool.find
model m from p { id: "demo"  system: "Be brief."  inference { temperature: 0.2 } }
agent explore {
    model: model.m
    instruction: "Explore."
    uses: [tool.find]
    output { notes: string }
}
agent narrow {
    model: model.m
    context: agent.explore
    instruction: "Narrow."
    output { chosen: string }
}
agent answer {
    model: model.m { inference { temperature: 0.9 } }
    context: compact agent.narrow { model: model.m }
    system: "Speak to {{ agent.narrow.chosen }}."
    instruction: "Answer."
    file { content: input.report name: "report-{{ input.number }}.md" }
    file { content: agent.explore.notes }
    file { content: call tool.find {} name: "found.txt" }
    output { text: string }
}
output { text: agent.answer.text }
`
const usage = {
  input_tokens: 1,
  output_tokens: 1,
  cached_tokens: 0,
  written_tokens: 0,
  reasoning_tokens: 0,
  cost: null,
}
const iso = (ms: number): string => new Date(1_000_000 + ms).toISOString()

/** A run of the workflow: tools in two turns, a repaired answer, a whole history and a summary. */
function ranState() {
  const state = initialState()
  let id = 0
  const take = <T extends EventType>(ms: number, type: T, data: EventData[T]): void => {
    reduce(state, { id: ++id, type, data: { ...data, at: iso(ms) } } as SeenEvent)
  }
  const nodes = ["explore", "narrow", "answer"].map((name) => ({
    id: `agent.${name}`,
    kind: "agent" as const,
    name,
    depends_on: [],
  }))
  const call = (turn: number, attempt: number, ms: number) => ({
    turn,
    attempt,
    started_at: iso(ms),
    duration_ms: 2,
    model: "m",
  })
  take(0, "workflow_planned", { nodes })
  take(1, "agent_started", { agent: "explore", model: "demo", tools: ["find"], instruction: "Explore." })
  const tool = { agent: "explore", tool: "find", server: "s" }
  take(10, "tool_call_started", { ...tool, call_id: "1", arguments: { q: "a" } })
  take(11, "tool_call_started", { ...tool, call_id: "2", arguments: { q: "b" } })
  take(12, "tool_call_completed", { ...tool, call_id: "1", result: "A", duration_ms: 2 })
  take(13, "tool_call_completed", { ...tool, call_id: "2", result: "B", duration_ms: 2 })
  take(30, "agent_completed", {
    agent: "explore",
    output: { notes: "n" },
    cached: false,
    duration_ms: 29,
    usage,
    calls: [call(1, 1, 5), call(2, 1, 20)],
  })
  take(31, "agent_started", { agent: "narrow", model: "demo", tools: [], instruction: "Narrow." })
  const reason = "The output does not fit its contract: agent.narrow.output.chosen: expected string, found number 7"
  take(36, "agent_retried", { agent: "narrow", attempt: 2, reason, delay_ms: 0 })
  take(40, "agent_completed", {
    agent: "narrow",
    output: { chosen: "c" },
    cached: false,
    duration_ms: 9,
    usage,
    calls: [call(1, 1, 32), call(1, 2, 37)],
  })
  take(41, "agent_started", { agent: "answer", model: "demo", tools: [], instruction: "Answer." })
  take(45, "context_compacted", { agent: "answer", source: "narrow", summary: "They chose c.", duration_ms: 3, usage })
  take(50, "agent_completed", {
    agent: "answer",
    output: { text: "t" },
    cached: false,
    duration_ms: 9,
    usage,
    calls: [call(1, 1, 46)],
  })
  const calls = state.spans.flatMap((span, at) => (span.kind === "model_call" ? [at] : []))
  return { state, calls }
}

test("the request of a model call: context, instruction, tool calls before it, schema, tools and settings", () => {
  const { plan, diagnostics } = compile(source)
  assert.ok(plan !== undefined, JSON.stringify(diagnostics))
  const { state, calls } = ranState()
  const [first = -1, second = -1, spoiled = -1, repaired = -1, last = -1] = calls

  const asked = rebuildRequest(plan, input, state, first) ?? assert.fail()
  assert.deepEqual(asked.messages, [{ role: "user", of: "instruction", content: "Explore." }])
  assert.equal(asked.system, "Be brief.")
  assert.deepEqual(asked.tools, [{ name: "find", description: null, parameters: null }])
  assert.deepEqual(Object.keys((asked.schema?.["properties"] ?? {}) as object), ["notes"])
  assert.deepEqual(asked.settings, { temperature: 0.2 })
  assert.deepEqual(asked.missing, [])
  assert.deepEqual(rebuildAnswer(state, first), [
    { tool: "find", arguments: { q: "a" } },
    { tool: "find", arguments: { q: "b" } },
  ])

  assert.deepEqual(
    rebuildRequest(plan, input, state, second)?.messages.map(({ role, content }) => [role, content]),
    [
      ["user", "Explore."],
      ["assistant", { tool: "find", arguments: { q: "a" } }],
      ["assistant", { tool: "find", arguments: { q: "b" } }],
      ["tool", "A"],
      ["tool", "B"],
    ],
  )
  assert.deepEqual(rebuildAnswer(state, second), { notes: "n" })

  // A history that is taken over whole ends with the answer of the agent before.
  const continued = rebuildRequest(plan, input, state, repaired) ?? assert.fail()
  assert.deepEqual(
    continued.messages.map(({ role, of }) => `${role} ${of}`).filter((line) => !/tool/.test(line)),
    ["user agent.explore", "assistant agent.explore", "user instruction"],
  )
  // Logs of older releases do not hold the rejected answer.
  assert.match(continued.missing.join(), /could not be used/)
  assert.match(reasonAfter(state, spoiled) ?? "", /expected string, found number 7/)
  assert.equal(rebuildAnswer(state, spoiled), undefined)
  assert.deepEqual(rebuildAnswer(state, repaired), { chosen: "c" })

  const summed = rebuildRequest(plan, input, state, last) ?? assert.fail()
  assert.deepEqual(summed.messages, [
    { role: "user", of: "summary of agent.narrow", content: "They chose c." },
    { role: "user", of: "instruction", content: "Answer." },
    { role: "user", of: "file report-7.md", content: "All is well." },
    { role: "user", of: "file notes", content: "n" },
  ])
  assert.deepEqual(summed.missing, ["the content of the file found.txt"])
  assert.equal(summed.system, "Speak to c.")
  // Without the input, the text stands as it was written, and is called so.
  const unsure = rebuildRequest(
    compile(source.replace("Speak to {{ agent.narrow.chosen }}", "Be {{ input.report }}")).plan ?? null,
    {},
    state,
    last,
  )
  assert.equal(unsure?.system, "Be {{ input.report }}.")
  assert.equal(unsure.isSystemWritten, true)
  assert.deepEqual(summed.settings, { temperature: 0.9 })
})

test("without the source of the run there are the messages, and what is missing is named", () => {
  const { state, calls } = ranState()
  const { messages, schema, missing } = rebuildRequest(null, input, state, calls[0] ?? -1) ?? assert.fail()
  assert.deepEqual(messages, [{ role: "user", of: "instruction", content: "Explore." }])
  assert.equal(schema, null)
  assert.match(missing.join(), /source of this run is not known/)
})

const withEffects = `input { topics: [string] }
provider p from openai { endpoint: "demo" }
mcp s { endpoint: "https://mcp.example.org" }
tool find from mcp.s.tool.find
resource page from mcp.s.resource."page://start"
prompt style from mcp.s.prompt.style
model m from p { id: "demo" }
dynamic { facts: call tool.find { input { q: "facts" } } }
agent write for topic in input.topics {
    model: model.m
    system: "Know {{ dynamic.facts }} and {{ call tool.find { input { q: topic } } }}."
    uses: [prompt.style]
    instruction: "Write."
    file { content: read resource.page name: "page.md" }
    output { text: string }
}
`

test("what tools, resources and prompts gave to expressions is a part of the request, for each item of a loop", () => {
  const { plan, diagnostics } = compile(withEffects)
  assert.ok(plan !== undefined, JSON.stringify(diagnostics))
  const sites = [...JSON.stringify(plan).matchAll(/"site":"([^"]+)"/g)].map(([, site = ""]) => site)
  const siteOf = (text: string): string => sites.find((site) => site.includes(text)) ?? assert.fail(sites.join())
  const state = initialState()
  let id = 0
  const take = <T extends EventType>(ms: number, type: T, data: EventData[T]): void => {
    reduce(state, { id: ++id, type, data: { ...data, at: iso(ms) } } as SeenEvent)
  }
  const gave = (
    call_id: string,
    site: string,
    result: JsonValue,
    about: { agent?: string; dynamic?: string },
    iteration?: number,
  ) => {
    const of = { ...about, ...(iteration === undefined ? {} : { iteration }), tool: "find", server: "s", call_id }
    take(2, "tool_call_started", { ...of, arguments: {}, site })
    take(3, "tool_call_completed", { ...of, result, duration_ms: 1 })
  }
  take(0, "workflow_planned", {
    nodes: [{ id: "agent.write", kind: "agent", name: "write", depends_on: [] }],
  })
  gave("1", siteOf("dynamic.facts"), { known: 3 }, { dynamic: "facts" })
  // As the server describes it: the source says nothing of it.
  const definitions = [{ name: "find", description: "Finds.", parameters: { type: "object" } }]
  take(4, "agent_loop_started", { agent: "write", iterations: 2 })
  for (const iteration of [0, 1]) {
    gave(`w${iteration}`, siteOf("agent.write.system"), `news ${iteration}`, { agent: "write" }, iteration)
    const at = { server: "s", iteration, duration_ms: 1 }
    take(5, "resource_read", { ...at, name: "page", site: siteOf("read page"), value: `page ${iteration}` })
    const about = { agent: "write", iteration }
    const described = iteration === 0 ? { tool_definitions: definitions } : {}
    take(6, "agent_started", { ...about, model: "demo", tools: [], instruction: "Write.", ...described })
    const messages =
      iteration === 0
        ? [{ role: "assistant" as const, text: "Yes.", images: ["data:image/png;base64,AA=="] }]
        : ({ truncated: true, bytes: 300_000 } as const)
    take(7, "prompt_rendered", { ...at, name: "style", site: siteOf("use prompt.style"), messages })
    const calls = [{ turn: 1, attempt: 1, started_at: iso(8), duration_ms: 1, model: "m" }]
    take(9, "agent_completed", { ...about, output: { text: "t" }, cached: false, duration_ms: 3, usage, calls })
  }
  const [first = -1, second = -1] = state.spans.flatMap((span, at) => (span.kind === "model_call" ? [at] : []))
  const asked = rebuildRequest(plan, { topics: ["a", "b"] }, state, first) ?? assert.fail()
  assert.equal(asked.system, 'Know {"known":3} and news 0.')
  assert.deepEqual(asked.messages, [
    { role: "assistant", of: "prompt.style", content: { text: "Yes.", images: ["data:image/png;base64,AA=="] } },
    { role: "user", of: "instruction", content: "Write." },
    { role: "user", of: "file page.md", content: "page 0" },
  ])
  assert.deepEqual(asked.missing, [])
  const other = rebuildRequest(plan, { topics: ["a", "b"] }, state, second) ?? assert.fail()
  assert.equal(other.system, 'Know {"known":3} and news 1.')
  assert.deepEqual(other.tools, definitions)
  assert.deepEqual(other.messages.at(-1), { role: "user", of: "file page.md", content: "page 1" })
  // Too large for an event.
  assert.deepEqual(other.missing, ["the messages of prompt.style"])
})

test("rejected answers: each with what the model was asked to do about it, those of a model that was left, and the last", () => {
  const state = initialState()
  let id = 0
  const take = <T extends EventType>(ms: number, type: T, data: EventData[T]): void => {
    reduce(state, { id: ++id, type, data: { ...data, at: iso(ms) } } as SeenEvent)
  }
  const error = { kind: "output_error" as const, message: "It does not fit", issues: [] }
  const added = (text: string) => [
    { role: "assistant" as const, text },
    { role: "user" as const, text: `wrong: ${text}` },
  ]
  const call = (attempt: number, model: string, answered: boolean) => ({
    turn: 1,
    attempt,
    started_at: iso(attempt * 10),
    duration_ms: 2,
    model,
    ...(answered ? { format: "json_schema" } : {}),
  })
  take(0, "workflow_planned", { nodes: [{ id: "agent.a", kind: "agent", name: "a", depends_on: [] }] })
  take(1, "agent_started", { agent: "a", model: "demo", tools: [], instruction: "Do." })
  take(12, "agent_retried", { agent: "a", attempt: 2, reason: "misfit", delay_ms: 0, added: added("one") })
  take(22, "agent_retried", { agent: "a", attempt: 3, reason: "503", delay_ms: 1 })
  take(32, "agent_fallback", { agent: "a", from: "m", to: "n", error, answer: "three" })
  take(42, "agent_retried", { agent: "a", attempt: 5, reason: "misfit", delay_ms: 0, added: added("four") })
  const calls = [call(1, "m", true), call(2, "m", false), call(3, "m", true), call(4, "n", true), call(5, "n", true)]
  take(52, "agent_failed", { agent: "a", error, answer: "five", duration_ms: 51, calls })
  const at = state.spans.flatMap((span, position) => (span.kind === "model_call" ? [position] : []))
  assert.deepEqual(
    at.map((position) => [
      rebuildRequest(null, {}, state, position)
        ?.messages.slice(1)
        .map(({ content }) => content),
      rebuildAnswer(state, position),
      reasonAfter(state, position),
      errorAfter(state, position)?.message,
    ]),
    [
      [[], "one", "misfit", undefined],
      [["one", "wrong: one"], undefined, "503", undefined],
      [["one", "wrong: one"], "three", "It does not fit", undefined],
      [[], "four", "misfit", undefined],
      [["four", "wrong: four"], "five", undefined, "It does not fit"],
    ],
  )
})
