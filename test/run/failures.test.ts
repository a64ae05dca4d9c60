import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { compile } from "../../src/compile.ts"
import type { LogEvent } from "../../src/log/events.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import { failure } from "../../src/ports/run-failure.ts"
import { toText } from "../../src/run/values/value-builders.ts"
import { record, string } from "../support/build-types.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import type { Attempt, Outcome } from "../support/run-plan.ts"
import { defaultOptions, resultOf, runPlan } from "../support/run-plan.ts"
import { answers, lastText, ScriptedModel } from "../support/scripted-model.ts"

// `failure(…)`: why a step or a call failed that the run went on after.

const head = `
provider p from openai { endpoint: "https://x.test/v1" }
model m from p { id: "m-1" }
mcp s { endpoint: "https://tools.test" }
tool find from mcp.s.tool.find { idempotent: true }
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
        idempotent: true,
        call: ({ query }) => {
          const text = toText(query ?? null)
          return { text: text.startsWith("bad") ? `no ${text}` : `found ${text}`, is_error: text.startsWith("bad") }
        },
      },
    },
  })

/** Answers with what it is asked; a text with `bad` in it fails. */
const model = (): ScriptedModel =>
  new ScriptedModel((request) => {
    const asked = lastText(request)
    if (asked.includes("bad")) throw failure("provider_error", "", `cannot say ${asked}`)
    return answers({ text: asked }, request)
  })

function run(source: string, attempt: Partial<Attempt> = {}): Promise<Outcome> {
  return runPlan(planOf(source), { tools: tools(), model: model(), ...attempt })
}

const everything = `
input { words: [string] }
dynamic {
    one: call tool.find { input { query: "bad one" } on_failure: skip }
    fine: call tool.find { input { query: "one" } on_failure: skip }
    unmade: call tool.find when length(input.words) > 9 { input { query: "bad" } on_failure: skip }
    all: [[call tool.find { input { query: "{{ w }} {{ v }}" } on_failure: skip } ?? "?" for v in [1, 2]] for w in input.words when w != "left out"]
}
agent single {
    model: model.m
    instruction: "bad single"
    on_failure: skip
    output { text: string }
}
agent each for w in input.words {
    dynamic { own: call tool.find { input { query: w } on_failure: skip } }
    model: model.m
    instruction: "{{ failure(dynamic.own)?.message ?? "good" }} of {{ w }}"
    on_failure: skip
    require failure(dynamic.own)?.kind == null || result.text != ""
    output { text: string }
}
output {
    one: failure(dynamic.one)
    fine: failure(dynamic.fine)
    unmade: failure(dynamic.unmade)
    all: failure((dynamic.all))
    single: failure(agent.single)
    each: failure(agent.each)
    texts: agent.each.*.text
    kinds: [f.kind for f in failure(agent.each) when f != null]
}
`

const words = { words: ["left out", "bad", "ok"] }

const wrong = (kind: string, message: string): { kind: string; message: string } => ({ kind, message })

const expected = {
  one: wrong("tool_error", "find: no bad one"),
  fine: null,
  unmade: null,
  all: [
    [wrong("tool_error", "find: no bad 1 (item 0, 0)"), wrong("tool_error", "find: no bad 2 (item 0, 1)")],
    [null, null],
  ],
  single: wrong("provider_error", "cannot say bad single"),
  each: [null, wrong("provider_error", "cannot say find: no bad of bad"), null],
  texts: ["good of left out", null, "good of ok"],
  kinds: ["provider_error"],
}

test("a failure is known where it was skipped: of steps, calls, loops, lists and an agent's own values", async () => {
  const outcome = await run(everything, { input: words })
  assert.deepEqual(outcome.bugs, [])
  assert.deepEqual(resultOf(outcome), expected)
})

/** Remembers each append as the engine made it. */
class Recording extends MemoryStore {
  readonly appends: (readonly LogEvent[])[] = []
  override append(lease: Parameters<MemoryStore["append"]>[0], events: readonly LogEvent[]): Promise<void> {
    this.appends.push([...events])
    return super.append(lease, events)
  }
}

test("killed after any event, the run knows the same failures", async () => {
  const recording = new Recording(systemClock)
  await run(everything, { store: recording, input: words, run_id: "r" })
  const events = recording.appends.flat()
  assert.ok(events.length > 20, `${events.length} events`)
  for (let count = 1; count < events.length; count++) {
    const store = new MemoryStore(systemClock)
    const request = { source: "", input: words, secrets: {}, options: defaultOptions }
    const asked = { run_id: "r", caller: "", request, created_at: Date.now(), idempotency: null }
    const created = await store.create(asked, "dead", 60_000)
    if (created.outcome !== "created") throw new Error(created.outcome)
    await store.append(created.lease, events.slice(0, count))
    await store.release(created.lease)
    const outcome = await run(everything, { store, input: words, run_id: "r", resumed: "crashed" })
    assert.deepEqual(resultOf(outcome), expected, `after event ${count}, ${events[count - 1]?.type}`)
  }
})

test("in a re-run a failed step runs again, and what asked why it failed sees what comes of it", async () => {
  const source = `
    input { words: [string] }
    agent a for w in input.words {
        model: model.m
        instruction: "{{ w }}"
        on_failure: skip
        output { text: string }
    }
    agent report when failure(agent.a)[0] != null {
        model: model.m
        instruction: "Tell: {{ failure(agent.a)[0]?.kind }}"
        output { text: string }
    }
    output { report: agent.report?.text  texts: agent.a.*.text }`
  const store = new MemoryStore(systemClock)
  const input = { words: ["bad", "ok"] }
  const first = await run(source, { store, input, run_id: "first" })
  assert.deepEqual(resultOf(first), { report: "Tell: provider_error", texts: [null, "ok"] })
  const better = new ScriptedModel((request) => answers({ text: `now ${lastText(request)}` }, request))
  const rerun = { run_id: "first", from: [] }
  const second = await run(source, { store, input, run_id: "second", model: better, rerun })
  assert.deepEqual(resultOf(second), { report: null, texts: ["now bad", "ok"] })
  assert.deepEqual(
    better.requests.map(({ path }) => path),
    ["agent.a"],
  )
})
