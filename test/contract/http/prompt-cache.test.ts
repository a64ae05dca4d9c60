import assert from "node:assert/strict"
import { describe, test, type TestContext } from "node:test"
import type { JsonObject } from "../../../src/base/json-value.ts"
import { startServer } from "../../support/http-server.ts"
import { startService } from "./start-service.ts"

// Where the stable part of a prompt ends, and what backends are told of it.

const guide = "Billing answers questions about money; product all others. ".repeat(80)

interface Case {
  readonly kind?: string
  readonly agent?: string
  readonly model?: string
  readonly head?: string
  readonly guide?: string
  readonly input?: JsonObject
  readonly options?: JsonObject
  readonly endpoint?: string
}

type Block = JsonObject & { text?: string; cache_control?: JsonObject }

describe("prompt caches", async () => {
  const service = await startService()

  /** The bodies that a backend gets, which refuses all of them. */
  async function sent(t: TestContext, one: Case, answer = '{"error":{"message":"no"}}', status = 400) {
    const server = await startServer((_request, response) =>
      response.writeHead(status, { "content-type": "application/json" }).end(answer),
    )
    t.after(() => server.close())
    const source = `
input { tickets: [string] guide: ${one.guide ?? "string"} }
provider p from ${one.kind ?? "anthropic"} { endpoint: "${server.origin}/v1" cleared: private }
model m from p { id: "m" ${one.model ?? ""} }
agent label ${one.head ?? "for ticket in input.tickets"} {
  model: m_
  ${one.agent ?? `instruction: "${guide}\\nThe ticket: {{ ticket }}. Answer."`}
  output { team: string }
}
output { found: agent.label }
`.replace("m_", "model.m")
    const body = {
      workflow_source: source,
      input: one.input ?? { tickets: ["a", "b"], guide },
      options: { max_concurrency: 1, ...one.options },
    }
    const response = await service.post("/execute", body)
    const text = await response.text()
    return { bodies: server.received.map(({ body: sentBody }) => JSON.parse(sentBody) as JsonObject), text }
  }

  function blocks(body: JsonObject | undefined): Block[] {
    const { messages } = body as { messages: { content: Block[] }[] }
    return messages.flatMap(({ content }) => content)
  }

  test("Anthropic: the text is split where the first value of the item stands, and the first block is marked", async (t) => {
    const { bodies } = await sent(t, {})
    const [head, tail] = blocks(bodies[0])
    assert.equal(head?.text, `${guide}\nThe ticket: `)
    assert.deepEqual(head?.cache_control, { type: "ephemeral" })
    assert.deepEqual(tail, { type: "text", text: "a. Answer." })
  })

  test("Anthropic: input and other steps are stable in a loop; system text comes first", async (t) => {
    const { bodies } = await sent(t, { agent: 'system: "{{ input.guide }}" instruction: "{{ ticket }}"' })
    const { system } = bodies[0] as { system: Block[] }
    assert.deepEqual(system, [{ type: "text", text: guide, cache_control: { type: "ephemeral" } }])
    assert.deepEqual(blocks(bodies[0]), [{ type: "text", text: "a" }])
  })

  test("Anthropic: a system text that differs ends the stable part", async (t) => {
    const { bodies } = await sent(t, { agent: `system: "${guide} for {{ ticket }}!" instruction: "Label."` })
    const { system } = bodies[0] as { system: Block[] }
    assert.equal(system[0]?.text, `${guide} for `)
    assert.deepEqual(system[0]?.cache_control, { type: "ephemeral" })
    assert.equal(system[1]?.text, "a!")
    assert.deepEqual(blocks(bodies[0]), [{ type: "text", text: "Label." }])
  })

  test("Anthropic: values of the agent's own, made from the item, differ; others do not", async (t) => {
    const agent = `dynamic { same: upper(input.guide) own: upper(ticket) } instruction: "{{ dynamic.same }}{{ dynamic.own }}{{ input.guide }}"`
    const [head] = blocks((await sent(t, { agent })).bodies[0])
    assert.equal(head?.text, guide.toUpperCase())
    assert.deepEqual(head?.cache_control, { type: "ephemeral" })
  })

  test("Anthropic: what is short, none, or of one call alone is not marked; 1h is", async (t) => {
    const marked = async (one: Case): Promise<boolean> =>
      JSON.stringify((await sent(t, one)).bodies[0]).includes("cache_control")
    assert.equal(await marked({ agent: 'instruction: "Short. {{ ticket }}"' }), false)
    assert.equal(await marked({ model: "prompt_cache: none" }), false)
    const once = { head: "", agent: `instruction: "${guide} {{ input.guide }}"` }
    assert.equal(await marked(once), false)
    const hour = await sent(t, { ...once, model: "prompt_cache: none", agent: `${once.agent} prompt_cache: "1h"` })
    assert.deepEqual(blocks(hour.bodies[0])[0]?.cache_control, { type: "ephemeral", ttl: "1h" })
  })

  test("Anthropic: a part that was sent in the last five minutes is marked", async (t) => {
    const server = await startServer((_request, response) => response.writeHead(400).end("{}"))
    t.after(() => server.close())
    const source = `input { name: string }
provider p from anthropic { endpoint: "${server.origin}/v1" }
model m from p { id: "m" }
agent a { model: model.m instruction: "${guide} {{ input.name }}" output { team: string } }
output { found: agent.a.team }`
    for (const name of ["x", "y"])
      await (await service.post("/execute", { workflow_source: source, input: { name } })).text()
    const [first, second] = server.received.map(({ body }) => JSON.parse(body) as JsonObject)
    assert.equal(blocks(first).length, 1)
    assert.equal(blocks(second).length, 2)
    assert.deepEqual(blocks(second)[0]?.cache_control, { type: "ephemeral" })
  })

  test("a 400 that names the mark drops it", async (t) => {
    const refusal =
      '{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.0.text.cache_control: Extra inputs are not permitted"}}'
    const { bodies } = await sent(t, {}, refusal)
    assert.equal(JSON.stringify(bodies[0]).includes("cache_control"), true)
    assert.equal(JSON.stringify(bodies[1]).includes("cache_control"), false)
    assert.equal(
      blocks(bodies[1])
        .map(({ text }) => text)
        .join(""),
      `${guide}\nThe ticket: a. Answer.`,
    )
  })

  test("private values are marked only where the file says so", async (t) => {
    const isMarked = async (one: Case): Promise<boolean> =>
      JSON.stringify((await sent(t, { guide: "private string", ...one })).bodies[0]).includes("cache_control")
    const begins = 'instruction: "{{ input.guide }} {{ ticket }}"'
    assert.equal(await isMarked({ agent: begins }), false)
    assert.equal(await isMarked({ agent: begins, model: "prompt_cache: auto" }), true)
    assert.equal(await isMarked({ agent: `instruction: "${guide} {{ ticket }} {{ input.guide }}"` }), true)
  })

  for (const kind of ["openai", "openai_chat"]) {
    test(`${kind}: elsewhere a key is sent only where the file says so, and dropped where it is refused`, async (t) => {
      const quiet = await sent(t, { kind })
      assert.equal("prompt_cache_key" in (quiet.bodies[0] ?? {}), false)
      const refusal =
        '{"error":{"message":"Unknown parameter: \'prompt_cache_options\'","param":"prompt_cache_options","code":"unknown_parameter"}}'
      const { bodies } = await sent(t, { kind, model: 'prompt_cache: "1h"' }, refusal)
      assert.match(JSON.stringify(bodies[0]?.["prompt_cache_key"]), /^"[\w-]{1,64}"$/)
      assert.deepEqual(bodies[0]?.["prompt_cache_options"], { ttl: "12h" })
      assert.equal("prompt_cache_options" in (bodies[1] ?? {}), false)
      assert.equal(bodies[1]?.["prompt_cache_key"], bodies[0]?.["prompt_cache_key"])
    })
  }

  test("anything else is a type-mismatch", async (t) => {
    const { text } = await sent(t, { model: 'prompt_cache: "5m"' })
    assert.match(text, /type-mismatch/)
    assert.match(text, /Write `prompt_cache: auto`, `none`, or `\\"1h\\"`/)
  })
})
