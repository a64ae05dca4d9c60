import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { compile } from "../../src/compile.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import { RunFailure, failure, wireError } from "../../src/ports/run-failure.ts"
import { toText } from "../../src/run/values/value-builders.ts"
import { reduce } from "../../src/log/reduce.ts"
import { initialState } from "../../src/log/run-state.ts"
import { record, string } from "../support/build-types.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import type { Attempt, Outcome } from "../support/run-plan.ts"
import { dataOf, errorOf, resultOf, runPlan, typesOf } from "../support/run-plan.ts"
import { answers, callsTools, ScriptedModel } from "../support/scripted-model.ts"

// Conditions, skipped steps and choices, from their text to what happens.

const head = `
provider p from openai { endpoint: "https://x.test/v1" }
model m from p { id: "m-1" }
mcp s { endpoint: "https://tools.test" }
tool find from mcp.s.tool.find
`

const agent = (head: string, more = ""): string => `
agent ${head} {
    model: model.m
    instruction: "x"
    output { text: string }
    ${more}
}
`

function planOf(source: string): Plan {
  const { plan, diagnostics } = compile(`${head}\n${source}`)
  if (plan === undefined) throw new Error(diagnostics.map((found) => `${found.path}: ${found.message}`).join("\n"))
  return plan
}

/** A tool that gives back what it is asked, as JSON. */
const echo = (): InProcessTools =>
  new InProcessTools({
    tools: {
      find: {
        input: record({ query: string }),
        call: ({ query }) => ({ text: toText(query ?? null), is_error: false }),
      },
    },
  })

/** Answers each agent with its own name. */
const named = (): ScriptedModel => new ScriptedModel((request) => answers({ text: request.path }, request))

async function run(source: string, attempt: Partial<Attempt> = {}): Promise<Outcome & { readonly asked: string[] }> {
  const model = (attempt.model as ScriptedModel | undefined) ?? named()
  const outcome = await runPlan(planOf(source), { tools: echo(), ...attempt, model })
  assert.deepEqual(outcome.bugs, [])
  return { ...outcome, asked: model.requests.map(({ path }) => path) }
}

test("an agent whose condition is false is not run: no call, no instruction, no local values; its value is null", async () => {
  const source = `
    input { flag: boolean }
    ${agent("a when input.flag", 'dynamic { d: call tool.find { input { query: input.unused ?? "d" } } }').replace("input.unused", "null")}
    ${agent("b when agent.a == null")}
    ${agent("c when agent.a != null", "dynamic { n: agent.a.text }")}
    output { a: agent.a  b: agent.b?.text  c: agent.c?.text ?? "none" }`
  const tools = echo()
  const off = await run(source, { input: { flag: false }, tools })
  assert.deepEqual(resultOf(off), { a: null, b: "agent.b", c: "none" })
  assert.deepEqual(off.asked, ["agent.b"])
  assert.deepEqual(tools.calls, [])
  assert.deepEqual(dataOf(off.events, "step_skipped"), [{ step: "agent.a" }, { step: "agent.c" }])
  const on = await run(source, { input: { flag: true } })
  assert.deepEqual(resultOf(on), { a: { text: "agent.a" }, b: null, c: "agent.c" })
  assert.deepEqual(dataOf(on.events, "step_skipped"), [{ step: "agent.b" }])
  assert.deepEqual(
    dataOf(on.events, "workflow_planned")[0]?.nodes.map(({ id, when }) => [id, when]),
    [
      ["agent.a", "input.flag"],
      ["agent.b", "agent.a == null"],
      ["agent.c", "agent.a != null"],
      ["output", undefined],
    ],
  )
})

test("in a loop the condition is asked for each item: null where it was skipped, in order", async () => {
  const outcome = await run(
    `input { tickets: [{ open: boolean, text: string }] }
    ${agent('reply for t in input.tickets when t.open && t.text != ""')}
    output { all: agent.reply  some: agent.reply.**.text  each: agent.reply.*.text }`,
    {
      input: {
        tickets: [
          { open: true, text: "a" },
          { open: false, text: "b" },
          { open: true, text: "" },
          { open: true, text: "d" },
        ],
      },
    },
  )
  const said = "agent.reply"
  assert.deepEqual(resultOf(outcome), {
    all: [{ text: said }, null, null, { text: said }],
    some: [said, said],
    each: [said, null, null, said],
  })
  assert.deepEqual(dataOf(outcome.events, "step_skipped"), [
    { step: "agent.reply", iteration: 1 },
    { step: "agent.reply", iteration: 2 },
  ])
  const state = outcome.events.reduce((before, event) => reduce(before, event), initialState())
  const node = state.nodes.find(({ id }) => id === "agent.reply")
  assert.deepEqual([node?.state, node?.loop], ["completed", { total: 4, started: 2, completed: 2, skipped: 2 }])
})

test("a loop of 10,000 items of which almost all are skipped", async () => {
  const outcome = await run(
    `input { ns: [integer] }
    ${agent("a for n in input.ns when n >= 9998 || n == 5")}
    output { some: agent.a.**.text  all: agent.a }`,
    { input: { ns: Array.from({ length: 10_000 }, (_, n) => n) } },
  )
  const { some, all } = resultOf(outcome) as { some: string[]; all: JsonValue[] }
  assert.equal(some.length, 3)
  assert.equal(all.length, 10_000)
  assert.equal(all.filter((one) => one === null).length, 9_997)
  assert.equal(dataOf(outcome.events, "step_skipped").length, 9_997)
  assert.equal(outcome.asked.length, 3)
})

test("operators: every row, on values", async () => {
  const source = `
    input { n: number  s: string  l: [integer]  o: { a: integer, b: [string] }  f: boolean  m: maybe string  ms: [maybe string] }
    output {
        eq: [input.n == 1, input.n != 1, input.s == "abc", input.l == [1, 2], input.l == [2, 1]]
        structure: [input.o == { b: ["x"], a: 1 }, input.o == { a: 2, b: ["x"] }, input.o != { a: 1, b: [] }]
        order: [input.n < 2, input.n <= 1, input.n > 1, input.n >= 1, -1 < input.n]
        text: [input.s contains "bc", input.s contains "x", input.s contains ""]
        list: [input.l contains 2, input.l contains 3, input.ms contains null, input.ms contains "z"]
        logic: [input.f && input.n == 1, input.f || input.n == 1, !input.f, !(input.n == 2), !input.f && !input.f]
        precedence: [input.f && input.f || true, true || input.f && input.f, input.m ?? "x" == "x", !input.f == true]
        nullable: [input.m == null, input.m != null, input.m == "x", input.m == null || input.m contains "a"]
        inside: "a{{ input.n == 1 }}b"
    }`
  const input: JsonObject = { n: 1, s: "abc", l: [1, 2], o: { a: 1, b: ["x"] }, f: false, m: null, ms: [null, "y"] }
  assert.deepEqual(resultOf(await run(source, { input })), {
    eq: [true, false, true, true, false],
    structure: [true, false, true],
    order: [true, true, false, true, true],
    text: [true, false, true],
    list: [true, false, true, false],
    logic: [false, true, true, true, true],
    precedence: [true, true, true, true],
    nullable: [true, false, false, true],
    inside: "atrueb",
  })
})

test("the right side of `&&` and `||`, and branches that are not chosen, make no call", async () => {
  const tools = echo()
  const asks = (what: string): string => `(call tool.find { input { query: "${what}" } })`
  const outcome = await run(
    `input { t: boolean  f: boolean  tier: enum { gold, silver } }
    output {
        a: input.f && ${asks("1")} == "x"
        b: input.t || ${asks("2")} == "x"
        c: input.t && ${asks("3")} == "3"
        d: match input.tier { gold: ${asks("4")}  silver: ${asks("5")} }
        e: match input.f { true: ${asks("6")}  false: "none" }
    }`,
    { input: { t: true, f: false, tier: "silver" }, tools },
  )
  assert.deepEqual(resultOf(outcome), { a: false, b: true, c: true, d: "5", e: "none" })
  assert.deepEqual(
    tools.calls.map(({ values }) => values["query"]),
    ["3", "5"],
  )
})

test("match on enums, booleans, literals and null", async () => {
  const source = `
    schema state { variant kind { open { since: string } done { by: maybe string } } }
    input { tier: maybe enum { gold, "very high", "true" }  ok: maybe boolean  mode: "a" | "b c"  state: maybe schema.state }
    output {
        tier: match input.tier { gold: "g"  "very high": "v"  "true": "t"  null: "n" }
        ok: match input.ok { true: 1  false: 0  null: -1 }
        mode: match input.mode { a: input.mode  _: "other" }
        state: match input.state { open: input.state#open.since  done: input.state#done.by ?? "?"  null: "none" }
        short: match input.state { open.since  done.by ?? "?"  _ "rest" }
    }`
  const at = async (input: JsonObject): Promise<unknown> => resultOf(await run(source, { input }))
  assert.deepEqual(await at({ tier: "true", ok: false, mode: "b c", state: { kind: "done", by: null } }), {
    tier: "t",
    ok: 0,
    mode: "other",
    state: "?",
    short: "?",
  })
  assert.deepEqual(await at({ tier: "very high", ok: true, mode: "a", state: { kind: "open", since: "now" } }), {
    tier: "v",
    ok: 1,
    mode: "a",
    state: "now",
    short: "now",
  })
  assert.deepEqual(await at({ tier: null, ok: null, mode: "a", state: null }), {
    tier: "n",
    ok: -1,
    mode: "a",
    state: "none",
    short: "rest",
  })
})

test("untyped operands are checked when the workflow runs, and the error names the expression", async () => {
  const fails = async (expression: string, message: RegExp): Promise<void> => {
    const outcome = await run(
      `dynamic { x: call tool.find { input { query: "{\\"n\\": 1, \\"s\\": \\"a\\"}" } } }
      output { r: ${expression} }`,
    )
    const error = errorOf(outcome)
    assert.equal(error.kind, "evaluation_error")
    assert.equal(error.issues[0]?.path, "output.r")
    assert.match(error.message, message)
  }
  await fails(
    "dynamic.x.s < 3",
    /Cannot evaluate dynamic\.x\.s < 3: < compares two numbers or two strings, found a string/,
  )
  await fails("dynamic.x.n && true", /Cannot evaluate dynamic\.x\.n && true: && takes booleans, found a number/)
  await fails("true && dynamic.x.n", /&& takes booleans, found a number/)
  await fails("!dynamic.x.s", /Cannot evaluate !dynamic\.x\.s: ! takes a boolean, found a string/)
  await fails("dynamic.x.n contains 1", /contains searches a string or an array, found a number/)
  await fails("dynamic.x.s contains dynamic.x.n", /contains searches a string for a string, found a number/)
  const outcome = await run(
    `dynamic { x: call tool.find { input { query: "{\\"s\\": \\"a\\"}" } } }
    ${agent("a when dynamic.x.s")}`,
  )
  assert.equal(errorOf(outcome).issues[0]?.path, "agent.a.when")
  assert.match(errorOf(outcome).message, /Cannot evaluate dynamic\.x\.s: a condition is a boolean, found a string/)
})

test("on_failure: skip makes a failed agent null, and the run goes on", async () => {
  const source = `
    ${agent("a", "on_failure: skip")}
    ${agent("b when agent.a == null")}
    output { a: agent.a?.text ?? "none"  b: agent.b?.text }`
  const model = new ScriptedModel((request) => {
    if (request.path === "agent.a") throw failure("provider_error", "", "no capacity")
    return answers({ text: request.path }, request)
  })
  const outcome = await run(source, { model })
  assert.deepEqual(resultOf(outcome), { a: "none", b: "agent.b" })
  const types = typesOf(outcome.events)
  const failedAt = types.indexOf("agent_failed")
  assert.equal(types[failedAt + 1], "step_skipped")
  const error = dataOf(outcome.events, "agent_failed")[0]?.error
  assert.equal(error?.kind, "provider_error")
  assert.deepEqual(dataOf(outcome.events, "step_skipped"), [{ step: "agent.a", error }])
  const state = outcome.events.reduce((before, event) => reduce(before, event), initialState())
  assert.deepEqual(
    state.nodes.map((node) => [node.id, node.state, node.error?.kind]),
    [
      ["agent.a", "skipped", "provider_error"],
      ["agent.b", "completed", undefined],
      ["output", "completed", undefined],
    ],
  )
})

test("on_failure: skip in a loop: one bad item does not end the run, whatever is bad about it", async () => {
  const outcome = await run(
    `dynamic { xs: call tool.find { input { query: "[{\\"n\\": 1}, {\\"n\\": \\"x\\"}, {}, {\\"n\\": 4}, {\\"n\\": 5}]" } } }
    agent a for { n } in dynamic.xs when n > 0 {
        model: model.m
        instruction: "{{ n }}"
        on_failure: skip
        output { text: string }
    }
    output { all: agent.a.*.text }`,
    {
      model: new ScriptedModel((request) => {
        const [first] = request.input
        if (JSON.stringify(first).includes("4")) throw failure("output_error", "", "not JSON")
        return answers({ text: "ok" }, request)
      }),
    },
  )
  assert.deepEqual(resultOf(outcome), { all: ["ok", null, null, null, "ok"] })
  assert.deepEqual(
    dataOf(outcome.events, "step_skipped")
      .map(({ iteration, error }) => [iteration, error?.kind])
      .toSorted(([a = 0], [b = 0]) => Number(a) - Number(b)),
    [
      [1, "evaluation_error"],
      [2, "evaluation_error"],
      [3, "output_error"],
    ],
  )
  const state = outcome.events.reduce((before, event) => reduce(before, event), initialState())
  const node = state.nodes.find(({ id }) => id === "agent.a")
  assert.deepEqual([node?.state, node?.loop?.skipped, node?.loop?.completed], ["completed", 3, 2])
})

test("an agent that used up its max_steps is skipped; one at a limit that the author set ends the run", async () => {
  const source = `
    ${agent("a", "on_failure: skip  max_steps: 2  uses: [tool.find]")}
    output { a: agent.a?.text ?? "none" }`
  const outcome = await run(source, {
    model: new ScriptedModel((request) => callsTools([{ name: "find", arguments: { query: "x" } }], request)),
  })
  assert.deepEqual(resultOf(outcome), { a: "none" })
  assert.equal(dataOf(outcome.events, "step_skipped")[0]?.error?.kind, "limit_exceeded")
  for (const path of ["limits.tokens", "agent.a.limits.cost", "options.limits.model_calls"]) {
    const limited = await run(source, {
      model: new ScriptedModel(() => {
        throw new RunFailure(wireError("limit_exceeded", [{ path, message: "spent" }]))
      }),
    })
    assert.equal(errorOf(limited).kind, "limit_exceeded")
    assert.deepEqual(dataOf(limited.events, "step_skipped"), [])
  }
})

test("a run that is cancelled or out of time ends, whatever could be skipped", async () => {
  const source = `
    ${agent("a", "on_failure: skip")}
    output { a: agent.a?.text ?? "none" }`
  const waits = (): ScriptedModel =>
    new ScriptedModel((_, { signal }) => {
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(failure("provider_error", "", "aborted")), { once: true })
      })
    })
  const store = new MemoryStore(systemClock)
  const cancelled = await run(source, {
    store,
    run_id: "to-cancel",
    model: new ScriptedModel((_, { signal }) => {
      void store.requestCancel("to-cancel")
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(failure("provider_error", "", "aborted")), { once: true })
      })
    }),
  })
  assert.equal(cancelled.events.at(-1)?.type, "workflow_cancelled")
  assert.deepEqual(dataOf(cancelled.events, "step_skipped"), [])
  const late = await run(source, { model: waits(), options: { timeout_ms: 20 } })
  assert.equal(errorOf(late).kind, "timeout")
  assert.deepEqual(dataOf(late.events, "step_skipped"), [])
})

test("an agent continues another one's history under a condition that rules out that it was skipped", async () => {
  const source = `
    input { flag: boolean }
    ${agent("a when input.flag")}
    ${agent("b when agent.a != null", "context: agent.a")}
    output { b: agent.b?.text }`
  const model = named()
  const outcome = await run(source, { input: { flag: true }, model })
  assert.deepEqual(resultOf(outcome), { b: "agent.b" })
  assert.equal(model.requests.find(({ path }) => path === "agent.b")?.input.length, 3)
  assert.deepEqual(resultOf(await run(source, { input: { flag: false } })), { b: null })
})

test("a condition is no part of what is cached: the same step is found under another condition", async () => {
  const store = new MemoryStore(systemClock)
  const once = await run(`${agent("a")} output { a: agent.a.text }`, { store, options: { cache_key: "c" } })
  assert.equal(once.asked.length, 1)
  const guarded = `input { n: integer } ${agent("a when input.n > 1", "on_failure: skip")} output { a: agent.a?.text }`
  const again = await run(guarded, { store, input: { n: 2 }, options: { cache_key: "c" } })
  assert.deepEqual(resultOf(again), { a: "agent.a" })
  assert.deepEqual(again.asked, [])
  const skipped = await run(guarded, { store, input: { n: 1 }, options: { cache_key: "c" } })
  assert.deepEqual(resultOf(skipped), { a: null })
})

test("a comparison of values that share their parts is bounded like every other work", async () => {
  // Each value holds the one before it twice: written out, the last would have a billion parts.
  const doubled = (name: string): string =>
    Array.from({ length: 18 }, (_, i) => `${name}${i + 1}: [dynamic.${name}${i}, dynamic.${name}${i}]`).join("\n")
  const outcome = await run(`
    dynamic { a0: "x{{ 1 }}"  ${doubled("a")} b0: "x{{ 1 }}"  ${doubled("b")} }
    output { same: dynamic.a18 == dynamic.b18  more: [[dynamic.a18], [dynamic.a17]] contains [dynamic.b18] }`)
  const end = outcome.events.at(-1)
  assert.ok(end?.type === "workflow_completed" || errorOf(outcome).kind === "limit_exceeded")
})
