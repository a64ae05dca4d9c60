import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryStore } from "../../adapters/memory/memory-store.ts"
import { systemClock } from "../../adapters/system/system-clock.ts"
import type { ContextPlan, Plan } from "../../plan/plan-shape.ts"
import { agent, entries, lit, output, plan, ref, text, tool, use } from "../../../test/support/build-plan.ts"
import { record, string } from "../../../test/support/build-types.ts"
import { InProcessTools } from "../../../test/support/in-process-tools.ts"
import { dataOf, resultOf, runPlan, typesOf } from "../../../test/support/run-plan.ts"
import { answers, says, ScriptedModel } from "../../../test/support/scripted-model.ts"
import { StoreFailure } from "../../ports/store.ts"

const counting = (): ScriptedModel => {
  let count = 0
  return new ScriptedModel((request) =>
    request.contract === null
      ? says(`summary ${++count}`, request)
      : answers({ message: `answer ${++count}` }, request),
  )
}

const one = plan([agent("a", { instruction: text("Say ", ref("input.x")) }), output({ m: ref("agent.a.message") })])
const options = { cache_key: "k" }

test("a hit gives the same output without a call, and says that it is one", async () => {
  const store = new MemoryStore(systemClock)
  const model = counting()
  const first = await runPlan(one, { model, store, options, input: { x: "1" } })
  const second = await runPlan(one, { model, store, options, input: { x: "1" } })
  assert.equal(model.requests.length, 1)
  assert.deepEqual(resultOf(second), resultOf(first))
  assert.deepEqual(typesOf(second.events).slice(2, 4), ["agent_started", "agent_completed"])
  const completed = dataOf(second.events, "agent_completed")[0]
  assert.equal(completed?.cached, true)
  assert.deepEqual(completed?.calls, [])
  assert.equal(completed?.usage.input_tokens, 0)
})

test("no key or use_cache: false means no cache, neither to read nor to write", async () => {
  const store = new MemoryStore(systemClock)
  const model = counting()
  const input = { x: "1" }
  await runPlan(one, { model, store, input })
  await runPlan(one, { model, store, input, options: { cache_key: "k", use_cache: false } })
  await runPlan(one, { model, store, input, options })
  assert.equal(model.requests.length, 3)
  await runPlan(one, { model, store, input, options: { cache_key: "other" } })
  assert.equal(model.requests.length, 4)
})

test("whatever decides the answer decides the key; a secret counts by its name", async () => {
  const base = (): Plan =>
    plan([agent("a", { uses: [use("tool", "t")] }), agent("b", { context: { agent: "a", compact: null } })], {
      tools: { t: tool({ remote: "t", bindings: entries({ token: ref("secrets.key") }) }) },
      provider: { api_key: ref("secrets.key"), endpoint: lit("https://x.test") },
    })
  const t = { input: record({ token: string }), call: () => ({ text: "", is_error: false }) }
  const store = new MemoryStore(systemClock)
  const model = counting()
  const callsOf = async (changed: Plan, key = "sk-first-key", cache_key = "k"): Promise<number> => {
    const before = model.requests.length
    const tools = new InProcessTools({ tools: { t } })
    await runPlan(changed, { model, store, tools, secrets: { key }, options: { cache_key } })
    return model.requests.length - before
  }
  const edit = (change: (plan: Record<string, unknown>) => void): Plan => {
    const copy = structuredClone(base())
    change(copy as unknown as Record<string, unknown>)
    return copy
  }
  const nodes = (copy: Record<string, unknown>): Record<string, unknown>[] => copy["nodes"] as Record<string, unknown>[]
  const first = nodes(base() as unknown as Record<string, unknown>)[0]
  assert.ok(first)
  assert.equal(await callsOf(base()), 2)
  assert.equal(await callsOf(base()), 0)
  assert.equal(await callsOf(base(), "sk-another-key"), 0)
  const changes: [string, (copy: Record<string, unknown>) => void][] = [
    ["instruction", (copy) => Object.assign(nodes(copy)[0] ?? {}, { instruction: text("Other") })],
    [
      "inference",
      (copy) => Object.assign(nodes(copy)[0] ?? {}, { models: [{ name: "m", inference: { temperature: 1 } }] }),
    ],
    [
      "fallbacks",
      (copy) => {
        Object.assign(copy["models"] as object, { other: (copy["models"] as Record<string, object>)["m"] })
        const models = ["m", "other"].map((name) => ({ name, inference: {} }))
        Object.assign(nodes(copy)[0] ?? {}, { models })
      },
    ],
    [
      "output contract",
      (copy) => Object.assign(nodes(copy)[0] ?? {}, { output: record({ message: string, b: string }) }),
    ],
    [
      "file",
      (copy) =>
        Object.assign(nodes(copy)[0] ?? {}, { files: [{ name: lit("f"), content: lit("c"), media_type: null }] }),
    ],
    ["max_steps", (copy) => Object.assign(nodes(copy)[0] ?? {}, { max_steps: 3 })],
    ["model id", (copy) => Object.assign((copy["models"] as Record<string, object>)["m"] ?? {}, { id: lit("other") })],
    [
      "endpoint",
      (copy) =>
        Object.assign((copy["providers"] as Record<string, object>)["p"] ?? {}, { endpoint: lit("https://y.test") }),
    ],
    [
      "server",
      (copy) =>
        Object.assign((copy["servers"] as Record<string, object>)["s"] ?? {}, {
          endpoint: lit("http://127.0.0.1:2/mcp"),
        }),
    ],
    [
      "binding",
      (copy) =>
        Object.assign((copy["tools"] as Record<string, object>)["t"] ?? {}, { bindings: entries({ token: lit("x") }) }),
    ],
    [
      "tool description",
      (copy) => Object.assign((copy["tools"] as Record<string, object>)["t"] ?? {}, { description: "new" }),
    ],
  ]
  for (const [name, change] of changes) {
    // Agent b continues agent a, whose answer and thus history is another one now.
    assert.ok((await callsOf(edit(change))) >= 1, `${name} is not in the key`)
    assert.equal(await callsOf(edit(change)), 0, `${name}: the changed workflow is cached too`)
  }
  assert.equal(await callsOf(base()), 0)
})

test("a compacted context is not summarised again for a hit", async () => {
  const compact: NonNullable<ContextPlan["compact"]> = { models: [{ name: "m", inference: {} }], instruction: null }
  const compacted = plan([agent("a"), agent("b", { context: { agent: "a", compact } })])
  const store = new MemoryStore(systemClock)
  const model = counting()
  await runPlan(compacted, { model, store, options })
  assert.equal(model.requests.length, 3)
  await runPlan(compacted, { model, store, options })
  assert.equal(model.requests.length, 3)
})

test("a cache that fails is degraded, never a failed run", async () => {
  const store = new MemoryStore(systemClock)
  store.cache.get = () => Promise.reject(new StoreFailure("no get"))
  store.cache.put = () => Promise.reject(new StoreFailure("no put"))
  const outcome = await runPlan(one, { model: counting(), store, options, input: { x: "1" } })
  assert.deepEqual(resultOf(outcome), { m: "answer 1" })
  assert.deepEqual(dataOf(outcome.events, "cache_degraded"), [{ operation: "get" }, { operation: "put" }])
  assert.equal(outcome.events.at(-1)?.type, "workflow_completed")
})

test("a malformed entry is a miss", async () => {
  const store = new MemoryStore(systemClock)
  store.cache.get = () => Promise.resolve("what is this")
  const outcome = await runPlan(one, { model: counting(), store, options, input: { x: "1" } })
  assert.deepEqual(resultOf(outcome), { m: "answer 1" })
})
