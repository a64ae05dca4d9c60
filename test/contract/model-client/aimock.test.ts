import assert from "node:assert/strict"
import { suite, test } from "node:test"
import type { TestContext } from "node:test"
import { LLMock } from "@copilotkit/aimock"
import type { Message } from "../../../src/log/messages.ts"
import { userText } from "../../../src/log/messages.ts"
import type { ModelRequest } from "../../../src/ports/model.ts"
import { askModel } from "../../support/ask-model.ts"

// The model client against a mock of the vendors' APIs that others wrote and hold against the real ones.

const good = '{"message":"Hello, Ada.","tone":"warm"}'
const output = { message: "Hello, Ada.", tone: "warm" }
const tools = [
  { name: "search", description: "Searches", parameters: { type: "object", properties: { q: { type: "string" } } } },
]

for (const api of ["responses", "chat", "anthropic", "google"] as const) {
  suite(`aimock, by ${api}`, () => {
    async function start(t: TestContext): Promise<{ mock: LLMock; backend: ModelRequest["backend"] }> {
      const mock = new LLMock({ port: 0, host: "127.0.0.1", logLevel: "silent" })
      await mock.start()
      t.after(() => mock.stop())
      return {
        mock,
        backend: { api, endpoint: `${mock.url}/${api === "google" ? "v1beta" : "v1"}`, api_key: "mock", headers: {} },
      }
    }

    for (const deltas of [false, true]) {
      const how = deltas ? "streamed" : "whole"

      test(`${how}: a structured answer`, async (t) => {
        const { mock, backend } = await start(t)
        mock.onMessage("Greet Ada.", { content: good, usage: { input_tokens: 12, output_tokens: 7 } })
        const model = askModel(t)
        const turn = await model.ask({ backend, deltas, model: "gpt-4.1-mini" })
        assert.deepEqual(turn.kind === "output" && turn.output, output)
        assert.deepEqual([turn.usage.input_tokens, turn.usage.output_tokens], [12, 7])
        assert.equal(model.deltas.map(({ text }) => text).join(""), deltas ? good : "")
      })

      test(`${how}: a tool loop of two turns`, async (t) => {
        const { mock, backend } = await start(t)
        mock.on(
          { userMessage: "Greet Ada.", hasToolResult: false },
          { toolCalls: [{ name: "search", arguments: '{"q":"Ada"}' }] },
        )
        mock.on({ userMessage: "Greet Ada.", hasToolResult: true }, { content: good })
        const model = askModel(t)
        const user = userText("Greet Ada.")
        const first = await model.ask({ backend, deltas, tools, input: [user] })
        assert.ok(first.kind === "tool_calls")
        const [call] = first.tool_calls
        assert.equal(call?.name, "search")
        assert.deepEqual(JSON.parse(call.arguments), { q: "Ada" })
        const result: Message = { role: "tool", call_id: call.call_id, name: "search", output: "she is well" }
        const second = await model.ask({ backend, deltas, tools, input: [user, first.message, result], turn: 2 })
        assert.deepEqual(second.kind === "output" && second.output, output)
      })

      test(`${how}: an error, then the answer`, async (t) => {
        const { mock, backend } = await start(t)
        mock.onMessage("Greet Ada.", { content: good })
        mock.nextRequestError(503, { message: "Overloaded", type: "server_error" })
        const model = askModel(t)
        const turn = await model.ask({ backend, deltas })
        assert.equal(turn.kind, "output")
        assert.match(model.retries[0]?.reason ?? "", /answered 503/)
      })

      test(`${how}: reasoning models`, async (t) => {
        const { mock, backend } = await start(t)
        mock.onMessage("Greet Ada.", { content: good, reasoning: "She likes it warm." })
        const model = askModel(t)
        const turn = await model.ask({ backend, deltas, model: "o3" })
        assert.deepEqual(turn.kind === "output" && turn.output, output)
        assert.ok(!model.deltas.some(({ text }) => text.includes("likes")))
      })

      test(`${how}: a repair`, async (t) => {
        const { mock, backend } = await start(t)
        mock.onMessage(/does not fit/, { content: good })
        mock.onMessage("Greet Ada.", { content: '{"message":"Hello"}' })
        const turn = await askModel(t).ask({ backend, deltas })
        assert.deepEqual(turn.kind === "output" && turn.output, output)
        assert.equal(turn.calls.length, 2)
      })
    }

    test("a stream that is cut is no answer", async (t) => {
      const { mock, backend } = await start(t)
      mock.onMessage("Greet Ada.", { content: good }, { truncateAfterChunks: 4, chunkSize: 5 })
      const failure = await askModel(t).refuse({ backend, deltas: true, inference: { max_retries: 1 } })
      assert.equal(failure.error.kind, "provider_error")
      assert.equal(failure.calls.length, 2)
    })

    test("a request that matches nothing is an error of the provider", async (t) => {
      const { backend } = await start(t)
      const failure = await askModel(t).refuse({ backend })
      assert.equal(failure.error.kind, "provider_error")
      assert.equal(failure.error.issues[0]?.upstream_status, 404)
    })
  })
}
