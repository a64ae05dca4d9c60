import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonObject } from "../../src/base/json-value.ts"
import { compile } from "../../src/compile.ts"
import { dataOf, resultOf, runPlan, type Outcome } from "../support/run-plan.ts"
import { answers, ScriptedModel } from "../support/scripted-model.ts"

// `model: match … { … }`, and a loop over models.

const source = `
input { tier: enum { gold, silver } }
provider p from openai { endpoint: "https://x.test/v1" }
model large from p { id: "id-large"  system: "Be large." }
model small from p { id: "id-small" }
agent one {
    model: match input.tier { gold: model.large, _ model.small }
    instruction: "one"
    output { text: string }
}
agent vote for m in [model.large, model.small, model.large] {
    model: m
    instruction: "vote"
    output { text: string }
}
agent mixed for m, at in [model.small, model.large] {
    model: match input.tier { gold: m, _ model.small }
    context: compact agent.one { instruction: "short" }
    instruction: "{{ at }}"
    output { text: string }
}
output { one: agent.one.text  votes: agent.vote.*.text  mixed: agent.mixed.*.text }
`

async function run(input: JsonObject): Promise<Outcome & { readonly asked: readonly string[] }> {
  const { plan, diagnostics } = compile(source)
  if (plan === undefined) throw new Error(diagnostics.map(({ message }) => message).join("\n"))
  const asked: string[] = []
  const model = new ScriptedModel((request) => {
    asked.push(`${request.path} ${request.turn} ${request.name} ${request.model} ${request.system ?? "-"}`)
    if (request.turn === 0) return { kind: "text", text: "short", calls: [] } as never
    return answers({ text: request.model }, request)
  })
  return { ...(await runPlan(plan, { model, input })), asked: asked.toSorted() }
}

test("the model that is chosen does the step: with its id, its system text and its summary", async () => {
  const gold = await run({ tier: "gold" })
  assert.deepEqual(gold.bugs, [])
  assert.deepEqual(resultOf(gold), {
    one: "id-large",
    votes: ["id-large", "id-small", "id-large"],
    mixed: ["id-small", "id-large"],
  })
  const summaries = gold.asked.filter((one) => one.startsWith("agent.mixed 0"))
  assert.deepEqual(summaries, ["agent.mixed 0 large id-large -", "agent.mixed 0 small id-small -"])
  assert.ok(gold.asked.includes("agent.one 1 large id-large Be large."), gold.asked.join("\n"))
  const started = dataOf(gold.events, "agent_started").filter(({ agent }) => agent === "vote")
  assert.deepEqual(
    started.toSorted((a, b) => (a.iteration ?? 0) - (b.iteration ?? 0)).map(({ model }) => model),
    ["id-large", "id-small", "id-large"],
  )
  const silver = await run({ tier: "silver" })
  assert.deepEqual(resultOf(silver), {
    one: "id-small",
    votes: ["id-large", "id-small", "id-large"],
    mixed: ["id-small", "id-small"],
  })
  assert.deepEqual(dataOf(silver.events, "agent_fallback"), [])
})
