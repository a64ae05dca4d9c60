import assert from "node:assert/strict"
import { hash } from "node:crypto"
import { describe, test } from "node:test"
import { fc } from "../support/fast-check.ts"
import { cases } from "../support/strength.ts"
import type { JsonObject } from "../../src/base/json-value.ts"
import { canonicalJson } from "../../src/base/canonical-json.ts"
import { compile } from "../../src/compile.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import type { ModelRequest } from "../../src/ports/model.ts"
import { failure } from "../../src/ports/run-failure.ts"
import { record, string } from "../support/build-types.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import { LightSignal } from "../../src/base/light-signal.ts"
import type { Attempt, Outcome } from "../support/run-plan.ts"
import { dataOf, errorOf, resultOf, runPlan } from "../support/run-plan.ts"
import { answers, callsTools, ScriptedModel } from "../support/scripted-model.ts"

// Re-runs: what an earlier run leaves to a later one, and what must run again.

const head = `
provider p from openai { endpoint: "https://x.test/v1" }
model m from p { id: "m-1" }
model other from p { id: "m-2" }
mcp s { endpoint: "https://tools.test" }
tool find from mcp.s.tool.find
`

function planOf(source: string): Plan {
  const { plan, diagnostics } = compile(`${head}\n${source}`)
  if (plan === undefined) throw new Error(diagnostics.map((found) => `${found.path}: ${found.message}`).join("\n"))
  return plan
}

const tools = (): InProcessTools =>
  new InProcessTools({
    tools: {
      find: {
        input: record({ query: string }),
        call: ({ query }) => ({ text: `found ${JSON.stringify(query)}`, is_error: false }),
      },
    },
  })

function textOf({ input }: ModelRequest): string {
  const last = input.at(-1)
  return last?.role === "user" ? last.parts.map((part) => (part.type === "text" ? part.text : "")).join("") : ""
}

/** What decides an answer, as the model sees it. */
function keyOf({ path, backend, model, system, input, tools: offered, contract, inference }: ModelRequest): string {
  return canonicalJson([path, backend.endpoint, model, system, input, offered, contract?.type ?? null, inference])
}

/** Answers with a hash of all that it is asked: another question has another answer. */
const hashing = (): ScriptedModel =>
  new ScriptedModel((request) => answers({ text: hash("sha256", keyOf(request), "hex").slice(0, 8) }, request))

interface Made extends Outcome {
  readonly asked: string[]
  readonly requests: readonly ModelRequest[]
  readonly host: InProcessTools
}

async function run(source: string, attempt: Partial<Attempt> = {}, model = hashing()): Promise<Made> {
  const host = tools()
  const outcome = await runPlan(planOf(source), { tools: host, ...attempt, model })
  assert.deepEqual(outcome.bugs, [])
  return { ...outcome, asked: model.requests.map(({ path }) => path), requests: model.requests, host }
}

const again = (earlier: Outcome, source: string, from: readonly string[] = [], more: Partial<Attempt> = {}) =>
  run(source, { store: earlier.store, rerun: { run_id: earlier.run_id, from }, ...more })

const reused = ({ events }: Outcome): string[] =>
  dataOf(events, "step_reused").map(({ step, iteration }) => (iteration === undefined ? step : `${step}#${iteration}`))

const chain = (parts: { a?: string; b?: string; when?: string; out?: string; model?: string } = {}): string => `
input { text: string }
dynamic { found: call tool.find { input { query: input.text } } }
agent a { model: model.${parts.model ?? "m"}  instruction: "${parts.a ?? "A"} {{ dynamic.found }}"  output { text: string ${parts.out ?? ""} } }
agent b ${parts.when ?? ""} { model: model.m  context: agent.a  instruction: "${parts.b ?? "B"}"  output { text: string } }
output { a: agent.a.text  b: agent.b }
`

const input = { text: "owl" }

describe("a re-run", () => {
  test("takes over everything when nothing changed, and makes no call", async () => {
    const first = await run(chain(), { input })
    const second = await again(first, chain(), [], { input })
    assert.deepEqual(resultOf(second), resultOf(first))
    assert.deepEqual(second.asked, [])
    assert.deepEqual(second.host.calls, [])
    assert.deepEqual(reused(second), ["tool.find", "agent.a", "agent.b"])
    const [started] = dataOf(second.events, "workflow_started")
    assert.deepEqual(started, { rerun_of: first.run_id })
    for (const step of dataOf(second.events, "step_reused")) assert.equal(step.run_id, first.run_id)
    // What a call in an expression gave is found by its place, in the first run and in this one.
    const [called] = dataOf(first.events, "tool_call_started")
    assert.ok(called?.site !== undefined)
    assert.equal(dataOf(second.events, "step_reused")[0]?.site, called.site)
    const end = second.events.at(-1)
    assert.equal(end?.type === "workflow_completed" ? end.data.usage.output_tokens : -1, 0)
    // A re-run of a re-run.
    const third = await again(second, chain({ b: "B2" }), [], { input })
    assert.deepEqual(third.asked, ["agent.b"])
    assert.deepEqual(third.requests[0]?.input.length, 3, "the history of a step that was taken over comes with it")
  })

  for (const [what, source, expected] of [
    ["an instruction", chain({ b: "B2" }), ["agent.b"]],
    ["an instruction that others go on from", chain({ a: "A2" }), ["agent.a", "agent.b"]],
    ["a model", chain({ model: "other" }), ["agent.a", "agent.b"]],
    ["nothing but the layout", chain().replaceAll("{{ ", "{{"), []],
    ["a condition that still holds", chain({ when: 'when agent.a.text != ""' }), []],
  ] as const) {
    test(`runs what ${what} changes: ${expected.join(", ") || "nothing"}`, async () => {
      const first = await run(chain(), { input })
      const second = await again(first, source, [], { input })
      assert.deepEqual(second.asked, expected)
      const whole = await run(source, { input })
      assert.deepEqual(resultOf(second), resultOf(whole))
    })
  }

  test("runs what a schema, an input, or a tool's definition changes, and skips what a condition rules out", async () => {
    const first = await run(chain(), { input })
    const model = new ScriptedModel((request) => answers({ text: "t", more: "m" }, request))
    const typed = await run(
      chain({ out: "more: string" }),
      { input, store: first.store, rerun: { run_id: first.run_id, from: [] } },
      model,
    )
    assert.deepEqual(typed.asked, ["agent.a", "agent.b"])
    const other = await again(first, chain(), [], { input: { text: "cat" } })
    assert.deepEqual(other.asked, ["agent.a", "agent.b"])
    assert.deepEqual(
      other.host.calls.map(({ values }) => values),
      [{ query: "cat" }],
    )
    const ruledOut = await again(first, chain({ when: 'when agent.a.text == ""' }), [], { input })
    assert.deepEqual(ruledOut.asked, [])
    assert.deepEqual(resultOf(ruledOut), { a: (resultOf(first) as JsonObject)["a"], b: null })
    assert.deepEqual(reused(ruledOut), ["tool.find", "agent.a"])
  })

  test("a tool is called again when its result is read as another type", async () => {
    const source = (type: string): string => `
tool sizes from mcp.s.tool.sizes { output { ${type} } }
dynamic { sizes: call tool.sizes }
agent a { model: model.m  uses: [tool.sizes]  instruction: "A"  output { text: string } }
output { sizes: dynamic.sizes  a: agent.a.text }`
    const answer = { structured: { small: 1, large: 2 }, text: "", is_error: false }
    const tool = { input: record({}), call: () => answer }
    const host = new InProcessTools({ tools: { sizes: tool, find: tool } })
    const first = await run(source("small: integer"), { tools: host })
    const same = await again(first, source("small: integer"), [], { tools: host })
    assert.deepEqual(reused(same), ["tool.sizes", "agent.a"])
    const other = await again(first, source("small: integer  large: maybe integer"), [], { tools: host })
    assert.deepEqual(reused(other), [])
    assert.deepEqual((resultOf(other) as { sizes: unknown }).sizes, { small: 1, large: 2 })
  })

  test("a step that ran again and gave the same makes nothing after it run", async () => {
    const constant = (): ScriptedModel => new ScriptedModel((request) => answers({ text: "same" }, request))
    const source = (a: string): string => `
agent a { model: model.m  instruction: "${a}"  output { text: string } }
agent b { model: model.m  instruction: "B {{ agent.a.text }}"  output { text: string } }
output { b: agent.b.text }
`
    const first = await run(source("A"), {}, constant())
    const second = await run(
      source("A2"),
      { store: first.store, rerun: { run_id: first.run_id, from: [] } },
      constant(),
    )
    assert.deepEqual(second.asked, ["agent.a"])
    assert.deepEqual(reused(second), ["agent.b"])
  })

  test("`from` forces the named steps", async () => {
    const first = await run(chain(), { input })
    assert.deepEqual((await again(first, chain(), ["agent.b"], { input })).asked, ["agent.b"])
    const forced = await again(first, chain(), ["agent.a"], { input })
    assert.deepEqual(forced.asked, ["agent.a"], "agent.b goes on from the same history")
    for (const step of ["dynamic.found", "tool.find"]) {
      assert.equal((await again(first, chain(), [step], { input })).host.calls.length, 1, step)
    }
  })

  test("of a loop of 1,000 with one changed item, one call is made, wherever the items stand", async () => {
    const loop = `
input { items: [string] }
agent each for item in input.items { model: model.m  instruction: "Say {{ item }}"  output { text: string } }
output { all: agent.each.*.text }
`
    const items = Array.from({ length: 1000 }, (_, index) => `item ${index}`)
    const first = await run(loop, { input: { items } })
    const changed = ["new", ...items.toReversed().map((item) => (item === "item 500" ? "item 500 changed" : item))]
    const kept = changed.filter((item) => item !== "new")
    const second = await again(first, loop, [], { input: { items: kept } })
    assert.deepEqual(second.requests.map(textOf), ["Say item 500 changed"])
    assert.deepEqual(resultOf(second), resultOf(await run(loop, { input: { items: kept } })))
    const third = await again(second, loop, [], { input: { items: changed } })
    assert.deepEqual(third.requests.map(textOf), ["Say new"])
  })

  test("failed steps run, tool calls of reused steps are not made again", async () => {
    let fails = true
    const model = new ScriptedModel((request) => {
      if (request.path === "agent.b" && fails) throw failure("provider_error", "", "no capacity")
      if (request.path === "agent.a" && request.turn === 1) {
        return callsTools([{ name: "find", arguments: { query: "owl" } }], request)
      }
      return answers({ text: request.path }, request)
    })
    const source = `
agent a { model: model.m  uses: [tool.find]  instruction: "A"  output { text: string } }
agent b { model: model.m  instruction: "B {{ agent.a.text }}"  output { text: string } }
output { b: agent.b.text }
`
    const first = await run(source, {}, model)
    assert.equal(errorOf(first).kind, "provider_error")
    assert.equal(first.host.calls.length, 1)
    fails = false
    const second = await run(source, { store: first.store, rerun: { run_id: first.run_id, from: [] } }, model)
    assert.deepEqual(resultOf(second), { b: "agent.b" })
    assert.deepEqual(reused(second), ["agent.a"])
    assert.deepEqual(second.host.calls, [])
  })

  test("a step whose history is needed and was not kept is run", async () => {
    const source = (context: string): string => `
agent a { model: model.m  instruction: "A"  output { text: string } }
agent b { model: model.m  ${context}  instruction: "B"  output { text: string } }
output { a: agent.a.text  b: agent.b.text }
`
    const first = await run(source(""))
    const second = await again(first, source("context: agent.a"))
    assert.deepEqual(second.asked, ["agent.a", "agent.b"])
  })

  test("a re-run that is interrupted goes on from its own log", async () => {
    const first = await run(chain(), { input })
    const leave = new LightSignal()
    const stopping = new ScriptedModel(() => {
      leave.give()
      throw new Error("The process is gone")
    })
    const rerun = { run_id: first.run_id, from: [] }
    const broken = await run(chain({ b: "B2" }), { input, store: first.store, rerun, leave }, stopping)
    assert.equal(broken.end, null)
    await first.store.release({ run_id: broken.run_id, owner: "test", fence: 1 })
    const { run_id } = broken
    const ended = await run(chain({ b: "B2" }), { input, store: first.store, rerun, run_id, resumed: "Restarted" })
    assert.deepEqual(ended.asked, ["agent.b"])
    assert.deepEqual(ended.host.calls, [])
    assert.deepEqual(reused(ended), ["tool.find", "agent.a"], "each once")
    assert.deepEqual(resultOf(ended), resultOf(await run(chain({ b: "B2" }), { input })))
  })
})

// ------------------------------------------------------------------------------------------------------ properties

/** A workflow of agents that refer to agents before them; some loop, some have conditions, some continue another. */
interface Step {
  readonly text: string
  readonly refers: number
  readonly loop: boolean
  readonly when: boolean
  readonly continues: boolean
  readonly model: "m" | "other"
  readonly effort: number
}

const step: fc.Arbitrary<Step> = fc.record({
  text: fc.constantFrom("one", "two", "three"),
  refers: fc.nat(20),
  loop: fc.boolean(),
  when: fc.boolean(),
  continues: fc.boolean(),
  model: fc.constantFrom("m" as const, "other" as const),
  effort: fc.constantFrom(0, 1),
})

const program = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 7 }),
  items: fc.array(fc.constantFrom("x", "y", "z"), { maxLength: 4 }),
})

interface Program {
  readonly steps: readonly Step[]
  readonly items: readonly string[]
}

function sourceOf({ steps }: Program): string {
  const agents = steps.map((one, index) => {
    const before = index === 0 ? null : one.refers % index
    const other = before === null ? undefined : steps[before]
    const value = before === null ? "input.word" : other?.loop === true ? `agent.s${before}` : `agent.s${before}?.text`
    const loop = one.loop ? "for item in input.items" : ""
    const when = one.when ? 'when input.word != "never"' : ""
    const context =
      one.continues && before !== null && other?.loop === false && !other.when ? `context: agent.s${before}` : ""
    const item = one.loop ? "{{ item }}" : ""
    return `agent s${index} ${loop} ${when} { model: model.${one.model} { inference { temperature: ${one.effort} } }  ${context}
      instruction: "${one.text} {{ ${value} ?? "nothing" }} ${item}"  output { text: string } }`
  })
  const fields = steps.map((_, index) => `s${index}: agent.s${index}`)
  return `input { word: string  items: [string] }\n${agents.join("\n")}\noutput { ${fields.join("  ")} }`
}

const edit = fc.record({
  at: fc.nat(20),
  what: fc.constantFrom("text", "model", "effort", "loop", "when", "items", "word", "nothing"),
})

function edited(before: Program, { at, what }: { at: number; what: string }): { after: Program; word: string } {
  const steps = [...before.steps]
  const index = at % steps.length
  const one = steps[index]
  if (one === undefined) return { after: before, word: "w" }
  if (what === "text") steps[index] = { ...one, text: `${one.text}!` }
  if (what === "model") steps[index] = { ...one, model: one.model === "m" ? "other" : "m" }
  if (what === "effort") steps[index] = { ...one, effort: 1 - one.effort }
  if (what === "loop") steps[index] = { ...one, loop: !one.loop }
  if (what === "when") steps[index] = { ...one, when: !one.when }
  const items = what === "items" ? ["new", ...before.items].slice(0, 4) : before.items
  return { after: { steps, items }, word: what === "word" ? "w2" : "w" }
}

const count = (keys: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}

test("random programs and edits: the outputs are those of a whole run, and nothing ran that did not have to", async () => {
  await fc.assert(
    fc.asyncProperty(program, edit, async (before, change) => {
      const { after, word } = edited(before, change)
      const inputOf = (one: Program, used: string): JsonObject => ({ word: used, items: [...one.items] })
      const first = await run(sourceOf(before), { input: inputOf(before, "w") })
      const second = await again(first, sourceOf(after), [], { input: inputOf(after, word) })
      const whole = await run(sourceOf(after), { input: inputOf(after, word) })
      assert.deepEqual(resultOf(second), resultOf(whole))
      const known = count(first.requests.map(keyOf))
      const needed = count(whole.requests.map(keyOf))
      const made = count(second.requests.map(keyOf))
      for (const [key, times] of made) {
        // It may run again where its history was not kept: nobody went on from it in the first run.
        const extra = times - Math.max(0, (needed.get(key) ?? 0) - (known.get(key) ?? 0))
        if (extra > 0)
          assert.ok(
            after.steps.some((one) => one.continues),
            key,
          )
      }
      for (const [key, times] of needed) {
        assert.ok((made.get(key) ?? 0) >= times - (known.get(key) ?? 0), "what is new has run")
      }
    }),
    { numRuns: cases(100) },
  )
})
