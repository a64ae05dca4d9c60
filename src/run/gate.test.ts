import assert from "node:assert/strict"
import { test } from "node:test"
import { agent, call, dynamic, lit, output, plan, ref, text, tool, use } from "../../test/support/build-plan.ts"
import { record, string } from "../../test/support/build-types.ts"
import { InProcessTools } from "../../test/support/in-process-tools.ts"
import { resultOf, runPlan, typesOf } from "../../test/support/run-plan.ts"
import { answers, callsTools, says, ScriptedModel } from "../../test/support/scripted-model.ts"
import { LeaseLost } from "../ports/store.ts"
import { LightSignal } from "../base/light-signal.ts"
import { toText } from "./values/value-builders.ts"
import { failure } from "../ports/run-failure.ts"

// A process that is not sure of its lease makes no call: no model, tool, resource or prompt, not even once.

const imports = {
  resources: { page: { server: "s", remote: "page", bindings: [] } },
  prompts: { style: { server: "s", remote: "style", bindings: [] } },
  tools: { find: tool({ remote: "find", idempotent: true }) },
}

const everything = plan(
  [
    dynamic("found", call("find", { q: lit("fails once") }, { site: "found" })),
    dynamic("page", { op: "read", site: "page", resource: "page", bindings: [], text: "read resource.page" }),
    agent("asks", {
      uses: [use("tool", "find"), use("prompt", "style")],
      instruction: text("Ask ", ref("dynamic.found"), " ", ref("dynamic.page")),
    }),
    agent("sums", {
      context: { agent: "asks", compact: { models: [{ name: "m", inference: {} }], instruction: null } },
      instruction: text("Sum up."),
    }),
    output({ sum: ref("agent.sums.message") }),
  ],
  imports,
)

/** Everything that reaches the outside, in order. */
function outside() {
  const made: string[] = []
  let failed = false
  const tools = new InProcessTools({
    tools: {
      find: {
        input: record({ q: string }),
        call: async ({ q }) => {
          made.push(`tool ${toText(q ?? null)}`)
          if (q === "fails once" && !failed) {
            failed = true
            throw failure("tool_error", "", "a broken connection")
          }
          return { text: "hit", is_error: false }
        },
      },
    },
    resources: {
      page: {
        variables: [],
        read: () => {
          made.push("resource")
          return { text: "page", media_type: null }
        },
      },
    },
    prompts: {
      style: {
        arguments: [],
        render: () => {
          made.push("prompt")
          return [{ role: "user", text: "Be brief.", images: [] }]
        },
      },
    },
  })
  const open = tools.open.bind(tools)
  tools.open = (request, watch) => {
    made.push("connect")
    return open(request, watch)
  }
  const model = new ScriptedModel((request) => {
    made.push(`model ${request.path} ${request.turn}`)
    if (request.contract === null) return says("summary", request)
    if (request.path === "agent.asks" && request.turn === 1)
      return callsTools([{ name: "find", arguments: { q: "asked" } }], request)
    return answers({ message: "done" }, request)
  })
  return { made, tools, model }
}

const attempt = { options: { max_concurrency: 1 }, input: {} }

test("every call passes the gate, one more attempt included", async () => {
  const { made, tools, model } = outside()
  let passed = 0
  const outcome = await runPlan(everything, {
    ...attempt,
    tools,
    model,
    gate: () => {
      passed++
      return null
    },
  })
  assert.deepEqual(resultOf(outcome), { sum: "done" })
  assert.deepEqual(made.toSorted(), [
    "connect",
    "model agent.asks 1",
    "model agent.asks 2",
    "model agent.sums 0",
    "model agent.sums 1",
    "prompt",
    "resource",
    "tool asked",
    "tool fails once",
    "tool fails once",
  ])
  assert.equal(passed, made.length)
})

test("once the lease is lost nothing more is called, wherever the run stands", async () => {
  const whole = outside()
  await runPlan(everything, { ...attempt, ...whole })
  for (let allowed = 0; allowed < whole.made.length; allowed++) {
    const { made, tools, model } = outside()
    const leave = new LightSignal()
    let passed = 0
    const outcome = await runPlan(everything, {
      ...attempt,
      tools,
      model,
      leave,
      gate: () => {
        if (passed++ < allowed) return null
        leave.give()
        return Promise.reject(new LeaseLost("the run"))
      },
    })
    assert.equal(made.length, allowed)
    assert.equal(outcome.end, null)
    assert.deepEqual(outcome.bugs, [])
    assert.ok(!typesOf(outcome.events).some((type) => /^workflow_(completed|failed|cancelled)$/.test(type)))
  }
})

test("a call waits at the gate, and is made when it opens", async () => {
  const { made, tools, model } = outside()
  let waits = 0
  const outcome = await runPlan(everything, {
    ...attempt,
    tools,
    model,
    gate: () => (waits++ % 2 === 0 ? new Promise((resolve) => setImmediate(resolve)) : null),
  })
  assert.deepEqual(resultOf(outcome), { sum: "done" })
  assert.equal(waits, made.length * 2)
})
