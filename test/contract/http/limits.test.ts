import assert from "node:assert/strict"
import { describe, it } from "node:test"
import type { JsonObject } from "../../../src/base/json-value.ts"
import type { WorkflowsAnswer } from "../../../src/api/workflows.ts"
import { folderOf } from "../../support/workflow-folder.ts"
import { apiError, fakeBackend, json, says } from "../../support/fake-backend.ts"
import { allEvents } from "./read-stream.ts"
import { ada, errorOf, hello, oneAgent, startService } from "./start-service.ts"

const priced = oneAgent("demo").replace('"test-model"', '"demo" price { input: 1 output: 2 }')

describe("cost and limits over HTTP", async () => {
  const service = await startService()

  const started = async (body: JsonObject): Promise<{ readonly run: JsonObject; readonly last: JsonObject }> => {
    const response = await service.post("/execute", body, { accept: "text/event-stream" })
    const events = await allEvents(response)
    const run = (await (await service.get(`/execute/${response.headers.get("x-service-run-id")}`)).json()) as JsonObject
    return { run, last: (events.at(-1)?.data ?? {}) as JsonObject }
  }

  it("shows the cost in events and in the run; null without prices", async () => {
    const { run, last } = await started({ workflow_source: priced, input: ada })
    const usage = last["usage"] as Record<string, number>
    const cost = Math.round((usage["input_tokens"] ?? 0) + 2 * (usage["output_tokens"] ?? 0)) / 1e6
    assert.ok(cost > 0)
    assert.equal(usage["cost"], cost)
    assert.deepEqual(run["usage"], usage)
    assert.equal(run["limits"], undefined)
    const free = await started({ workflow_source: hello, input: ada })
    assert.equal((free.run["usage"] as JsonObject)["cost"], null)
  })

  it("shows limits, those of the workflow and of the request, and what is used of them", async () => {
    const source = `limits { tokens: 50_000 model_calls: 7 } ${priced}`
    const options = { limits: { model_calls: 3, cost: 0.5 } }
    const { run, last } = await started({ workflow_source: source, input: ada, options })
    const usage = last["usage"] as Record<string, number>
    assert.deepEqual(last["limits"], {
      cost: { limit: 0.5, used: usage["cost"] },
      tokens: { limit: 50_000, used: (usage["input_tokens"] ?? 0) + (usage["output_tokens"] ?? 0) },
      model_calls: { limit: 3, used: 1 },
    })
    assert.deepEqual(run["limits"], last["limits"])
  })

  it("refuses a file or a request that asks for more time than WIRE_MAX_RUN_TIME, and warns of a served one", async () => {
    const long = `limits { time_seconds: 7_200 } ${hello}`
    const timed = await startService({
      MAX_RUN_TIME: "1h",
      WORKFLOWS: folderOf({
        "long.wire": `schedule nightly { cron: "0 3 * * *" input { name: due.date } } ${long}`,
        "short.wire": long.replace("7_200", "3_600"),
      }),
    })
    const refused = await errorOf(await timed.post("/execute", { workflow_source: long, input: ada }))
    assert.deepEqual([refused.status, refused.issues[0]?.path], [422, "limits.time_seconds"])
    assert.match(refused.message, /WIRE_MAX_RUN_TIME/)
    const options = { timeout_ms: 3_600_001 }
    const asked = await errorOf(await timed.post("/execute", { workflow_source: hello, input: ada, options }))
    assert.deepEqual([asked.status, asked.issues[0]?.path], [422, "options.timeout_ms"])
    const named = await errorOf(await timed.post("/workflows/long/execute", { input: ada }))
    assert.equal(named.status, 422)
    assert.equal((await timed.post("/workflows/short/execute", { input: ada })).status, 200)
    const started = await errorOf(await timed.post("/triggers/long/nightly/run", ""))
    assert.match(started.message, /WIRE_MAX_RUN_TIME/)
    const { workflows } = (await (await timed.get("/workflows")).json()) as WorkflowsAnswer
    const issues = workflows.map(({ name, valid, issues }) => [name, valid, issues.map(({ code }) => code)])
    assert.deepEqual(issues, [
      ["long", true, ["workflow-time"]],
      ["short", true, []],
    ])
    // The default: a day.
    const day = hello.replace("input", "limits { time_seconds: 86_401 } input")
    assert.equal((await service.post("/execute", { workflow_source: day, input: ada })).status, 422)
  })

  it("refuses limits that are none", async () => {
    for (const limits of [{ tokens: 0 }, { tokens: -1 }, { cost: "1" }, { calls: 1 }, 5] as JsonObject[]) {
      const response = await service.post("/execute", { workflow_source: priced, input: ada, options: { limits } })
      const { status, kind } = await errorOf(response)
      assert.deepEqual([status, kind], [400, "invalid_request"], JSON.stringify(limits))
    }
    const unpriced = await service.post("/execute", {
      workflow_source: hello,
      input: ada,
      options: { limits: { cost: 1 } },
    })
    const error = await errorOf(unpriced)
    assert.equal(error.kind, "input_error")
    assert.equal(error.issues[0]?.path, "options.limits.cost")
  })

  it("fails at a limit, with its path", async () => {
    const body = { workflow_source: priced, input: ada, options: { limits: { tokens: 10 } } }
    const error = await errorOf(await service.post("/execute", body))
    assert.equal(error.kind, "limit_exceeded")
    assert.equal(error.issues[0]?.path, "options.limits.tokens")
  })

  it("counts cost, tokens, calls, retries and fallbacks by provider and model", async (t) => {
    const { backend } = await fakeBackend(t, ({ body }, n) => {
      if (body["model"] === "down") return apiError(401, "no")
      return n === 2 ? json({ error: { message: "busy" } }, 503) : says('{"message":"x"}')
    })
    const source = oneAgent(backend.endpoint)
      .replace("max_retries: 0", "max_retries: 2 retry_base_delay_ms: 1")
      .replace('"test-model"', '"up-model" price { input: 1 output: 2 }')
      .replace(/model: model\.(\w+)/, "model: [model.down, model.$1]")
    const provider = /from (\w+) \{\s*id/.exec(source)?.[1] ?? ""
    const body = { workflow_source: `model down from ${provider} { id: "down" } ${source}`, input: ada }
    assert.equal((await service.post("/execute", body)).status, 200)
    const text = await (await service.get("/metrics")).text()
    const labels = 'provider="openai",model="up-model"'
    for (const line of [
      `wire_cost_total{${labels}} 0.00002`,
      `wire_tokens_total{${labels},kind="input"} 10`,
      `wire_tokens_total{${labels},kind="output"} 5`,
      `wire_model_calls_total{${labels},outcome="answered"} 1`,
      `wire_model_calls_total{${labels},outcome="failed"} 1`,
      `wire_model_retries_total{${labels}} 1`,
      'wire_model_fallbacks_total{provider="openai",model="down"} 1',
    ]) {
      assert.ok(
        text.includes(`${line}\n`),
        `${line}\n${text
          .split("\n")
          .filter((one) => one.startsWith("wire_"))
          .join("\n")}`,
      )
    }
  })
})
