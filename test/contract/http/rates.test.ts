import assert from "node:assert/strict"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, it, type TestContext } from "node:test"
import { fakeBackend, json } from "../../support/fake-backend.ts"
import { allEvents } from "./read-stream.ts"
import { ada, oneAgent, startService } from "./start-service.ts"

const answer = {
  object: "response",
  status: "completed",
  output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: '{"message":"x"}' }] }],
  usage: { input_tokens: 10, output_tokens: 5, input_tokens_details: {}, output_tokens_details: {} },
}

/** A source whose provider states a rate. */
function rated(endpoint: string, rate: string): string {
  return oneAgent(endpoint, `rate { ${rate} }`)
}

/** A backend that keeps its answers until it is told, and counts how many it keeps at a time. */
async function heldBackend(t: TestContext) {
  const held: (() => void)[] = []
  let arrived = (): void => undefined
  let most = 0
  const { backend, asked } = await fakeBackend(t, () => (response, raw) => {
    held.push(() => json(answer)(response, raw))
    most = Math.max(most, held.length)
    arrived()
  })
  return {
    backend,
    asked,
    most: () => most,
    next: () =>
      new Promise<() => void>((resolve) => {
        const take = (): boolean => {
          const [first] = held.splice(0, 1)
          if (first !== undefined) resolve(first)
          return first !== undefined
        }
        if (!take()) arrived = () => void take()
      }),
  }
}

describe("rates", async () => {
  const service = await startService({ API_KEYS: "ann:key-of-ann-0123456,bob:key-of-bob-0123456" })
  const run = (caller: "ann" | "bob", source: string): Promise<Response> =>
    service.post(
      "/execute",
      { workflow_source: source, input: ada },
      { accept: "text/event-stream", authorization: `Bearer key-of-${caller}-0123456` },
    )

  it("lets so many calls of all runs go at a time; the rate of sent source holds for its caller alone", async (t) => {
    const { backend, next, most, asked } = await heldBackend(t)
    const source = rated(backend.endpoint, "concurrency: 1")
    const runs = [run("ann", source), run("ann", source), run("ann", oneAgent(backend.endpoint))].map(async (one) =>
      allEvents(await one),
    )
    for (let n = 0; n < 3; n++) {
      const reply = await next()
      assert.equal(asked.length, n + 1)
      reply()
    }
    for (const events of await Promise.all(runs)) assert.equal(events.at(-1)?.type, "workflow_completed")
    assert.equal(most(), 1)
    const both = [run("ann", source), run("bob", source)].map(async (one) => allEvents(await one))
    const [first, second] = [await next(), await next()]
    first()
    second()
    for (const events of await Promise.all(both)) assert.equal(events.at(-1)?.type, "workflow_completed")
  })

  it("stores an event when a call has waited for five seconds, and says how many wait", async (t) => {
    const { backend, next } = await heldBackend(t)
    const source = rated(backend.endpoint, "concurrency: 1")
    const one = run("ann", source)
    const reply = await next()
    const two = run("ann", source)
    const later = two.then((response) => allEvents(response))
    let metrics = ""
    // Polled: the metric is there as soon as the second call waits.
    for (const end = Date.now() + 30_000; Date.now() < end && !/^wire_rate_waiting\{.*\} 1$/m.test(metrics);) {
      metrics = await (await service.get("/metrics", { authorization: "Bearer key-of-ann-0123456" })).text()
    }
    assert.match(metrics, /^wire_rate_waiting\{provider="\w+",host="127\.0\.0\.1:\d+"\} 1$/m)
    const release = setTimeout(reply, 6_000)
    t.after(() => clearTimeout(release))
    const second = next()
    await allEvents(await one)
    ;(await second)()
    const events = await later
    const waited = events.filter(({ type }) => type === "model_call_waiting")
    assert.deepEqual(
      waited.map(({ data: { agent, because } }) => ({ agent, because })),
      [{ agent: "reply", because: "concurrency" }],
    )
  })

  it("a 429 of the backend holds back every run with the same credentials, and is found out once", async (t) => {
    const { backend, asked } = await fakeBackend(t, (_, n) =>
      n === 1
        ? json({ error: { message: "slow down", code: "rate_limit_exceeded" } }, 429, { "retry-after": "1" })
        : json(answer),
    )
    const source = oneAgent(backend.endpoint).replace("max_retries: 0", "max_retries: 1")
    const first = run("ann", source).then((response) => allEvents(response))
    while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    const others = Array.from({ length: 5 }, async () => allEvents(await run("bob", source)))
    const all = await Promise.all([first, ...others])
    for (const events of all) assert.equal(events.at(-1)?.type, "workflow_completed")
    const retried = all.map((events) => events.filter(({ type }) => type === "agent_retried").length)
    assert.deepEqual(retried, [1, 0, 0, 0, 0, 0])
    assert.equal(asked.length, 7)
  })

  it("a wrong file of rates stops the start with a sentence", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "rates-"))
    t.after(() => rm(folder, { recursive: true }))
    const file = join(folder, "rates.json")
    await writeFile(file, JSON.stringify({ "https://a.example": { concurrency: 0 } }))
    await assert.rejects(
      startService({ RATES: file }),
      /WIRE_RATES is ".*": the file has a wrong rate at "https:\/\/a\.example": "concurrency" must be a number above 0\./,
    )
  })
})
