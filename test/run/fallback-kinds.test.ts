import assert from "node:assert/strict"
import { test } from "node:test"
import { createEgress } from "../../src/adapters/egress/egress.ts"
import { createModelClient } from "../../src/adapters/model-turn/model-client.ts"
import { systemRandom } from "../../src/adapters/system/system-random.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { modelApi } from "../../src/cli/compose/model-apis.ts"
import { compile } from "../../src/compile.ts"
import { voices } from "../contract/model-client/voices.ts"
import { record, string } from "../support/build-types.ts"
import { fakeBackend, json } from "../support/fake-backend.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import { dataOf, resultOf, runPlan } from "../support/run-plan.ts"

// A model of one kind calls a tool and then fails for good; a model of another kind goes on from there.

for (const first of voices) {
  for (const second of voices) {
    if (first === second) continue
    test(`from ${first.api} to ${second.api} in the middle of a tool loop`, async (t) => {
      const one = await fakeBackend(t, (_, n) =>
        n === 1
          ? json(
              first.says({
                text: "Let me look.",
                thought: "hm",
                calls: [{ id: "call_a", name: "find", args: { q: "Ada" } }],
              }),
            )
          : json(first.error(500, "down"), 500),
      )
      const other = await fakeBackend(t, () => json(second.says({ text: '{"text":"She is there."}' })))
      const { plan, diagnostics } = compile(`
provider p from ${first.kind} { endpoint: "${one.backend.endpoint}" }
provider q from ${second.kind} { endpoint: "${other.backend.endpoint}" }
model fast from p { id: "m-1" inference { max_retries: 0 } price { input: 1 output: 1 } }
model careful from q { id: "m-2" price { input: 1 output: 1 } }
mcp s { endpoint: "https://tools.test" }
tool find from mcp.s.tool.find
limits { cost: 1 }
agent look {
    model: [model.fast, model.careful]
    uses: [tool.find]
    instruction: "Where is Ada?"
    output { text: string }
}
output { text: agent.look.text }`)
      assert.ok(plan !== undefined, JSON.stringify(diagnostics))
      let called = 0
      const tools = new InProcessTools({
        tools: {
          find: {
            input: record({ q: string }),
            call: () => {
              called++
              return { text: "in the garden", is_error: false }
            },
          },
        },
      })
      const egress = createEgress({ policy: { kind: "private" } })
      t.after(() => egress.close())
      const model = createModelClient({ api: modelApi, egress, clock: systemClock, random: systemRandom, demo: null })
      const outcome = await runPlan(plan, { model, tools })
      assert.deepEqual(resultOf(outcome), { text: "She is there." })
      assert.equal(called, 1)
      assert.equal(one.asked.length, 2)
      const conversation = second
        .asked(other.asked[0] ?? {})
        .conversation.map((line) => line.replace(/ (call_a|\S*call_a\S*) /, " "))
      assert.ok(
        conversation.some((line) => line.startsWith("call: find")),
        conversation.join("\n"),
      )
      assert.ok(
        conversation.some((line) => line.startsWith("result: ") && line.includes("in the garden")),
        conversation.join("\n"),
      )
      const [completed] = dataOf(outcome.events, "agent_completed")
      assert.deepEqual(
        completed?.calls.map(({ model: name, provider, id }) => [name, provider, id]),
        [
          ["fast", first.kind, "m-1"],
          ["fast", first.kind, "m-1"],
          ["careful", second.kind, "m-2"],
        ],
      )
      assert.equal(completed?.usage.cost, 0.00003)
    })
  }
}
