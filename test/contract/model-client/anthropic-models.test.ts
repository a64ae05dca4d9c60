import assert from "node:assert/strict"
import { suite, test } from "node:test"
import type { TestContext } from "node:test"
import type { JsonObject } from "../../../src/base/json-value.ts"
import { startDemoServer } from "../../../src/demo/demo-server.ts"
import type { ApiName } from "../../../src/check/provider-kinds.ts"
import type { OutputContract } from "../../../src/ports/model.ts"
import {
  any,
  array,
  either,
  integer,
  maybe,
  number,
  object,
  record,
  ref,
  string,
  table,
  tuple,
  variant,
} from "../../support/build-types.ts"
import { askModel } from "../../support/ask-model.ts"
import { fakeBackend, json } from "../../support/fake-backend.ts"
import { voices, type Voice } from "./voices.ts"

// Structured output on Anthropic's API: its own output format first, a forced tool call only where that is refused, words where both are.

const plain = record({ message: string, count: integer, note: maybe(string) })

/** Contracts that the API's own format can carry, though OpenAI's strict mode could not carry all of them. */
const carried: Readonly<Record<string, OutputContract["type"]>> = {
  plain,
  "arrays with a length": record({ three: array(number, 3), none: array(string, 0) }),
  tuples: record({ pair: tuple(string, integer), same: tuple(number, number) }),
  "objects that begin alike": record({ one: either(record({ a: string }), record({ a: string, b: integer })) }),
  variants: record({ state: variant("kind", { open: { since: string }, closed: {} }) }),
  "an object without fields": record({ nothing: record({}) }),
}

/** Those that it cannot. */
const uncarried: Readonly<Record<string, OutputContract["type"]>> = {
  "an open object": record({ facts: object }),
  "a value of any type": record({ facts: any }),
  "a schema that contains itself": record({ tree: ref("tree") }),
}
const types = table({ tree: record({ name: string, children: array(ref("tree")) }) })

const contractOf = (type: OutputContract["type"]): OutputContract => ({ name: "reply", type, types })

test("the demo model, which takes what Anthropic takes, is asked by the output format and accepts it at once", async (t) => {
  const server = await startDemoServer()
  t.after(() => server.close())
  const backend = { api: "anthropic" as const, endpoint: server.endpoint, api_key: null, headers: {} }
  for (const [name, type] of Object.entries(carried)) {
    const requests: JsonObject[] = []
    const sent = (_id: string, { body }: { readonly body: string }): void =>
      void requests.push(JSON.parse(body) as JsonObject)
    const turn = await askModel(t).ask(
      { backend, model: "demo", contract: contractOf(type), step: "agent.a" },
      { sent },
    )
    const { output_config, tool_choice } = requests[0] ?? {}
    assert.deepEqual(Object.keys((output_config ?? {}) as JsonObject), ["format"], name)
    assert.equal(tool_choice, undefined, name)
    // The demo does not count items: then the answer is sent back, in the same format.
    assert.deepEqual(new Set(turn.calls.map(({ format }) => format)), new Set(["json_schema"]), name)
  }
})

function speaker(wanted: ApiName): Voice {
  const [voice] = voices.filter(({ api }) => api === wanted)
  if (voice === undefined) throw new Error(`Nobody speaks ${wanted}`)
  return voice
}

suite("a model that refuses sampling settings, forced tools and old kinds of thinking", () => {
  const voice = speaker("anthropic")
  const values = { message: "hi", count: 1, note: null, facts: { a: 1 }, tree: { name: "x", children: [] } }

  async function start(t: TestContext) {
    const bodies: JsonObject[] = []
    const { remote, server } = await fakeBackend(t, ({ body }) => {
      bodies.push(body)
      const refuse = (message: string) => json(voice.error(400, message), 400)
      for (const name of ["temperature", "top_p", "top_k"]) {
        if (name in body) return refuse(`\`${name}\` is deprecated for this model.`)
      }
      const thinking = body["thinking"] as JsonObject | undefined
      if (thinking?.["budget_tokens"] !== undefined)
        return refuse("thinking.budget_tokens: Extra inputs are not permitted")
      if (thinking?.["type"] === "disabled") return refuse("thinking.type: 'disabled' is not supported for this model")
      if ("tool_choice" in body) return refuse("tool_choice: forcing a tool is not supported when thinking is on")
      const schema = JSON.stringify((body["output_config"] as JsonObject | undefined)?.["format"] ?? null)
      if (/"\$ref"|"properties":\{"facts"/.test(schema)) return refuse("output_config.format.schema: not supported")
      return json(voice.says({ text: JSON.stringify(Object.fromEntries(wanted.map((name) => [name, values[name]]))) }))
    })
    return { bodies, server, backend: { ...remote, api: "anthropic" as const } }
  }
  let wanted: readonly (keyof typeof values)[] = []

  test("settings are left out one by one, once", async (t) => {
    const { bodies, backend, server } = await start(t)
    wanted = ["message", "count", "note"]
    const model = askModel(t)
    const inference = {
      temperature: 0.5,
      top_p: 0.5,
      top_k: 3,
      extra: { thinking: { type: "disabled", budget_tokens: 1000 } },
    }
    const contract = contractOf(plain)
    await model.ask({ backend, contract, inference })
    assert.equal(bodies.length, 6)
    await model.ask({ backend, contract, inference })
    assert.equal(bodies.length, 7, "what was refused is remembered")
    assert.deepEqual(Object.keys(bodies.at(-1) ?? {}).sort(), ["max_tokens", "messages", "model", "output_config"])
    for (const { headers } of server.received) assert.equal(headers["anthropic-version"], "2023-06-01")
  })

  for (const [name, type] of Object.entries(uncarried)) {
    test(`${name}: words, after one forced tool, and other contracts keep the output format`, async (t) => {
      const { bodies, backend } = await start(t)
      wanted = name.includes("itself") ? ["tree"] : ["facts"]
      const model = askModel(t)
      const first = await model.ask({ backend, contract: contractOf(type) })
      assert.equal(first.calls.at(-1)?.format, "instruction_only")
      assert.deepEqual(
        bodies.map((body) => "tool_choice" in body),
        [true, false],
      )
      await model.ask({ backend, contract: contractOf(type) })
      assert.equal(bodies.length, 3, "the forced tool is not tried again")
      wanted = ["message", "count", "note"]
      const other = await model.ask({ backend, contract: contractOf(plain) })
      assert.deepEqual(
        other.calls.map(({ format }) => format),
        ["json_schema"],
      )
      assert.ok("output_config" in (bodies.at(-1) ?? {}))
    })
  }
})
