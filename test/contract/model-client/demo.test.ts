import assert from "node:assert/strict"
import { suite, test } from "node:test"
import type { TestContext } from "node:test"
import { createEgress } from "../../../src/adapters/egress/egress.ts"
import { parseEgressPolicy } from "../../../src/adapters/egress/policy.ts"
import type { ApiName } from "../../../src/check/provider-kinds.ts"
import type { DemoOptions } from "../../../src/demo/handle-demo.ts"
import { startDemoServer } from "../../../src/demo/demo-server.ts"
import type { Message } from "../../../src/log/messages.ts"
import { assistantText, userText } from "../../../src/log/messages.ts"
import type { AskModel } from "../../support/ask-model.ts"
import { askModel } from "../../support/ask-model.ts"
import { record, string } from "../../support/build-types.ts"

// The model client and the demo model, over HTTP, as a workflow with `endpoint: "demo"` joins them.

const reply = { name: "reply", type: record({ message: string }), types: {} }
const greeting = { message: "Hello, Ada." }

/** As the service sets it up: one egress reaches the demo model and nothing else, the other does not reach it. */
async function start(t: TestContext, options: DemoOptions = {}): Promise<AskModel> {
  const server = await startDemoServer({ retry_after_seconds: 3, slowFirstMs: 30, slowTokenMs: 1, ...options })
  t.after(() => server.close())
  const outcome = parseEgressPolicy(`127.0.0.1:${server.port}`)
  assert.ok(outcome.ok)
  const egress = createEgress({ policy: outcome.policy })
  t.after(() => egress.close())
  return askModel(t, { demo: { endpoint: server.endpoint, egress } }, { policy: { kind: "public" } })
}

/** Anthropic's API has no format for any JSON object. */
function formatName(api: ApiName, asked: string): string {
  if (asked === "auto") return "json_schema"
  return asked === "json_object" && api === "anthropic" ? "instruction_only" : asked
}

for (const api of ["responses", "chat", "anthropic", "google"] as const) {
  suite(`the demo model, by ${api}`, () => {
    const backend = { api, endpoint: "demo", api_key: null, headers: {} }

    for (const deltas of [false, true]) {
      for (const response_format of ["auto", "json_schema", "json_object", "instruction_only"] as const) {
        test(`greets Ada: ${response_format}${deltas ? ", streamed" : ""}`, async (t) => {
          const model = await start(t)
          const turn = await model.ask({ backend, model: "demo", contract: reply, response_format, deltas })
          assert.deepEqual(turn.kind === "output" && turn.output, greeting)
          assert.equal(turn.calls.length, 1)
          assert.equal(turn.calls[0]?.format, formatName(api, response_format))
          assert.ok(turn.usage.input_tokens > 0 && turn.usage.output_tokens > 0)
          if (deltas) assert.equal(model.deltas.map(({ text }) => text).join(""), JSON.stringify(greeting))
        })
      }

      test(`calls tools, then answers${deltas ? ", streamed" : ""}`, async (t) => {
        const model = await start(t)
        const tools = [
          {
            name: "lookup",
            description: "",
            parameters: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
          },
        ]
        const user = userText("Greet Ada.")
        const first = await model.ask({ backend, model: "demo", contract: reply, tools, input: [user], deltas })
        assert.ok(first.kind === "tool_calls")
        assert.deepEqual(JSON.parse(first.tool_calls[0]?.arguments ?? ""), { name: "Ada" })
        const call_id = first.tool_calls[0]?.call_id ?? ""
        const result: Message = { role: "tool", call_id, name: "lookup", output: "{}" }
        const second = await model.ask({
          backend,
          model: "demo",
          contract: reply,
          tools,
          input: [user, first.message, result],
          deltas,
        })
        assert.deepEqual(second.kind === "output" && second.output, greeting)
      })

      test(`demo-sloppy is repaired within the usual two repairs${deltas ? ", streamed" : ""}`, async (t) => {
        const model = await start(t)
        const turn = await model.ask({ backend, model: "demo-sloppy", contract: reply, deltas })
        assert.deepEqual(turn.kind === "output" && turn.output, greeting)
        // A forced tool call, which Anthropic's API is asked for after the first answer, comes as it should.
        assert.equal(turn.calls.length, api === "anthropic" ? 2 : 3)
        assert.equal(turn.message.parts.length, 1)
      })

      test(`demo-flaky is retried as it asks${deltas ? ", streamed" : ""}`, async (t) => {
        const model = await start(t)
        const turn = await model.ask({ backend, model: "demo-flaky", contract: reply, deltas })
        assert.deepEqual(turn.kind === "output" && turn.output, greeting)
        assert.ok(model.slept.length >= 1 && model.slept.every((ms) => ms === 3000), String(model.slept))
      })

      test(`demo-flaky fails two runs with one question, of whatever kind${deltas ? ", streamed" : ""}`, async (t) => {
        const model = await start(t)
        await model.ask({
          backend,
          model: "demo-flaky",
          contract: reply,
          deltas,
          run_id: "one",
          provider: "openai_chat",
        })
        const first = model.slept.length
        await model.ask({ backend, model: "demo-flaky", contract: reply, deltas, run_id: "two", provider: "ollama" })
        assert.ok(first > 0)
        assert.equal(model.slept.length, first * 2)
      })

      test(`demo-slow answers in the end${deltas ? ", streamed" : ""}`, async (t) => {
        const turn = await (await start(t)).ask({ backend, model: "demo-slow", contract: reply, deltas })
        assert.deepEqual(turn.kind === "output" && turn.output, greeting)
        assert.ok((turn.calls[0]?.duration_ms ?? 0) >= 29)
      })
    }

    for (const model of [
      "gpt-5",
      "claude-sonnet-4-5",
      "models/gemini-2.5-pro",
      "tunedModels/one",
      "qwen/qwen3:8b",
      "gpt 5%2F?#",
    ]) {
      test(`the id ${model} of another vendor is answered`, async (t) => {
        const turn = await (await start(t)).ask({ backend, model, contract: reply })
        assert.deepEqual(turn.kind === "output" && turn.output, greeting)
      })
    }

    test("an unknown id that begins with demo is an error of the provider with its status", async (t) => {
      const failure = await (await start(t)).refuse({ backend, model: "demo-quick" })
      assert.match(failure.error.message, /answered 404 \((?:model_not_found|not_found_error|NOT_FOUND)\)/)
    })

    test("max_tokens that do not suffice make the answer incomplete", async (t) => {
      const failure = await (
        await start(t)
      ).refuse({ backend, model: "demo", contract: reply, inference: { max_tokens: 2 } })
      assert.match(failure.error.message, /incomplete/)
    })

    test("a compaction is plain text", async (t) => {
      const turn = await (
        await start(t)
      ).ask({
        backend,
        model: "demo",
        contract: null,
        input: [
          userText("What is a monad?"),
          assistantText("A burrito."),
          userText("Summarise the conversation so far."),
        ],
      })
      assert.match(turn.kind === "text" ? turn.text : "", /monad[\s\S]*burrito[\s\S]*demo/)
    })

    test("the egress of the demo model reaches nothing else, and reaches the demo whatever the policy", async (t) => {
      const model = await start(t)
      const failure = await model.refuse({ backend: { ...backend, endpoint: "http://127.0.0.1:1/v1" } })
      assert.equal(failure.error.kind, "blocked_destination")
    })
  })
}
