import assert from "node:assert/strict"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import { fakeBackend, json } from "../../support/fake-backend.ts"
import { allEvents } from "./read-stream.ts"
import { ada, errorOf, oneAgent, startService } from "./start-service.ts"

const listed = { input: 1, cached: 0.1, output: 2 }

/** An answer that counts 1,000 tokens of input: 600 read from the cache, 300 written to it. */
const counted = json({
  object: "response",
  status: "completed",
  output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: '{"message":"x"}' }] }],
  usage: {
    input_tokens: 1000,
    output_tokens: 10,
    input_tokens_details: { cached_tokens: 600, cache_write_tokens: 300 },
    output_tokens_details: { reasoning_tokens: 0 },
  },
})

describe("prices", async () => {
  const folder = await mkdtemp(join(tmpdir(), "prices-"))
  after(() => rm(folder, { recursive: true }))
  const file = join(folder, "prices.json")
  await writeFile(file, JSON.stringify({ demo: { demo: listed } }))
  const service = await startService({ PRICES: file })

  it("counts written tokens at their own price", async (t) => {
    const { backend } = await fakeBackend(t, () => counted)
    const price = '"test-model" price { input: 10 cached: 1 written: 20 output: 100 }'
    const source = oneAgent(backend.endpoint).replace('"test-model"', price)
    const request = { workflow_source: source, input: ada }
    const events = await allEvents(await service.post("/execute", request, { accept: "text/event-stream" }))
    assert.deepEqual(events.at(-1)?.data["usage"], {
      input_tokens: 1000,
      output_tokens: 10,
      cached_tokens: 600,
      written_tokens: 300,
      reasoning_tokens: 0,
      cost: (100 * 10 + 600 * 1 + 300 * 20 + 10 * 100) / 1e6,
    })
    const metrics = await (await service.get("/metrics")).text()
    assert.match(metrics, /^wire_tokens_total\{provider="openai",model="test-model",kind="written"\} 300$/m)
  })

  it("are the operator's where the file has none, and the longest beginning of an endpoint counts", async (t) => {
    const { backend } = await fakeBackend(t, () => counted)
    const own = new URL(backend.endpoint).origin
    await writeFile(
      file,
      JSON.stringify({
        [own]: { "test-model": { input: 5, output: 5 } },
        // A slash at the end says nothing.
        [`${backend.endpoint}/`]: { "test-model": { ...listed, written: 2 } },
        // The beginning of the address, but not up to the end of a segment.
        [`${backend.endpoint}`.slice(0, -1)]: { "test-model": { input: 7, output: 7 } },
      }),
    )
    const priced = await startService({ PRICES: file })
    const request = {
      workflow_source: oneAgent(backend.endpoint),
      input: ada,
      options: { limits: { cost: 1 } },
    }
    const events = await allEvents(await priced.post("/execute", request, { accept: "text/event-stream" }))
    const usage = events.at(-1)?.data["usage"] as { cost: number } | undefined
    assert.equal(usage?.cost, (100 * 1 + 600 * 0.1 + 300 * 2 + 10 * 2) / 1e6)
    const completed = events.find(({ type }) => type === "agent_completed")
    const calls = completed?.data["calls"] as { price: object }[] | undefined
    assert.deepEqual(calls?.[0]?.price, { ...listed, written: 2, batch: 1, hosted: {} })
  })

  it("of written tokens are those of Anthropic where none is stated: a quarter more, and twice as much for an hour", async (t) => {
    const { backend } = await fakeBackend(t, () =>
      json({
        type: "message",
        role: "assistant",
        content: [{ type: "text", text: '{"message":"x"}' }],
        stop_reason: "end_turn",
        usage: { input_tokens: 100, cache_read_input_tokens: 600, cache_creation_input_tokens: 300, output_tokens: 10 },
      }),
    )
    const cost = async (priced: typeof service, model: string): Promise<unknown> => {
      const source = oneAgent(backend.endpoint).replace("from openai", "from anthropic").replace('"test-model"', model)
      const request = { workflow_source: source, input: ada }
      const events = await allEvents(await priced.post("/execute", request, { accept: "text/event-stream" }))
      return (events.at(-1)?.data["usage"] as { cost: number } | undefined)?.cost
    }
    const expected = (factor: number): number => (100 * 10 + 600 * 1 + 300 * 10 * factor + 10 * 100) / 1e6
    const price = "{ input: 10 cached: 1 output: 100 }"
    assert.equal(await cost(service, `"test-model" price ${price}`), expected(1.25))
    assert.equal(await cost(service, `"test-model" prompt_cache: "1h" price ${price}`), expected(2))
    const stated = `"test-model" prompt_cache: "1h" price { input: 10 cached: 1 written: 30 output: 100 }`
    assert.equal(await cost(service, stated), expected(3))
    // Those of the operator, too.
    await writeFile(
      file,
      JSON.stringify({ [backend.endpoint]: { "test-model": { input: 10, cached: 1, output: 100 } } }),
    )
    const ofOperator = await startService({ PRICES: file })
    assert.equal(await cost(ofOperator, '"test-model"'), expected(1.25))
    assert.equal(await cost(ofOperator, '"test-model" prompt_cache: "1h"'), expected(2))
  })

  it("are needed for a limit on cost", async (t) => {
    const { backend } = await fakeBackend(t, () => counted)
    const options = { limits: { cost: 1 } }
    const answer = await service.post("/execute", { workflow_source: oneAgent(backend.endpoint), input: ada, options })
    assert.equal((await errorOf(answer)).issues[0]?.path, "options.limits.cost")
  })

  for (const [what, text, expected] of [
    ["is not JSON", "{", /the file is not JSON/],
    [
      "has an unknown key",
      '{"demo":{"demo":{"input":1,"output":1,"colour":1}}}',
      /"demo", "demo": "colour" is unknown/,
    ],
    ["has a price below 0", '{"demo":{"demo":{"input":-1,"output":1}}}', /"input" must be a number from 0/],
    ["lacks a price", '{"demo":{"demo":{"input":1}}}', /input and output are required/],
  ] as const) {
    it(`stop the start with a sentence where the file ${what}`, async () => {
      const wrong = join(folder, "wrong.json")
      await writeFile(wrong, text)
      await assert.rejects(startService({ PRICES: wrong }), expected)
    })
  }
})
