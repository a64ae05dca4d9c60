import assert from "node:assert/strict"
import { test, type TestContext } from "node:test"
import type { CallRequestAnswer } from "../../../src/api/runs.ts"
import type { ModelCallRecord } from "../../../src/log/events.ts"
import { startServer } from "../../support/http-server.ts"
import { Random } from "../../support/random.ts"
import { atStrength, soakSeed } from "../../support/strength.ts"
import { allEvents } from "./read-stream.ts"
import { startService, type TestService } from "./start-service.ts"

// For random agents and loops: what the backend reports as cached is what the compiler predicted, to the block of 64 tokens.

const block = 256
const tokensOf = (bytes: number): number => (bytes < 16 * block ? 0 : Math.floor(bytes / block) * 64)

const kinds = ["anthropic", "openai", "openai_chat", "google"] as const

/** A text of random pieces, some the same for every item. `ticket` differs in its first character. */
function randomText(random: Random, id: string, needsTicket: boolean): string {
  const long = `Guide ${id}: „quotes“ and \\\\ backslashes. `.repeat(random.below(160))
  const pieces = [
    long,
    "{{ input.guide }}",
    "{{ dynamic.same }}",
    "{{ ticket }}",
    "{{ dynamic.own }}",
    "Short. ",
    "{{ place }}",
  ]
  const chosen = Array.from({ length: 1 + random.below(4) }, () => random.pick(pieces))
  return [...chosen, ...(needsTicket ? ["{{ ticket }}"] : [])].join("")
}

async function runOnce(service: TestService, random: Random, id: string) {
  const kind = random.pick(kinds)
  const hasSystem = random.below(2) === 0
  const source = `
input { guide: string  tickets: [string] }
provider p from ${kind} { endpoint: "demo" }
model m from p { id: "demo" }
agent label for ticket, place in input.tickets {
  model: model.m
  dynamic { same: upper(input.guide)  own: "{{ ticket }}-" }
  ${hasSystem ? `system: "${randomText(random, `${id}s`, false)}"` : ""}
  instruction: "${randomText(random, `${id}i`, true)}"
  ${random.below(4) === 0 ? "file input.guide" : ""}
  output { team: string }
}
output { found: agent.label }
`
  const guide = `Input ${id}. ${"The same for every ticket. ".repeat(random.below(300))}`
  const tickets = ["alpha", "beta", "gamma", "delta"]
  const body = { workflow_source: source, input: { guide, tickets }, options: { max_concurrency: 1 } }
  const response = await service.post("/execute", body, { accept: "text/event-stream" })
  const run_id = response.headers.get("x-service-run-id") ?? ""
  const events = await allEvents(response)
  const calls = events
    .filter(({ type }) => type === "agent_completed")
    .flatMap(({ data }) => data["calls"] as readonly ModelCallRecord[])
  assert.equal(calls.length, tickets.length, `${JSON.stringify(events.at(-1))}\n${source}`)
  return { run_id, calls, source, kind }
}

test("what the backend has cached is what was predicted, to the block of 64 tokens", async () => {
  const service = await startService()
  let hits = 0
  for (let round = 0; round < atStrength(14, 200); round++) {
    const random = new Random(soakSeed * 1000 + round)
    const { run_id, calls, source, kind } = await runOnce(service, random, `${round}`)
    for (const [at, { call_id, usage }] of calls.entries()) {
      const response = await service.get(`/execute/${run_id}/calls/${encodeURIComponent(call_id ?? "")}`)
      const { text, stable_bytes } = (await response.json()) as CallRequestAnswer
      assert.ok(stable_bytes !== undefined && text !== null, source)
      const predicted = at === 0 ? 0 : tokensOf(stable_bytes)
      assert.equal(usage?.cached_tokens, predicted, `${kind}, item ${at}, ${stable_bytes} bytes\n${source}`)
      if (predicted > 0) hits++
    }
  }
  assert.ok(hits > 0)
})

interface LoopCase {
  readonly count: number
  /** The first is answered when so many are there. */
  readonly together: number
  readonly model?: string
  readonly fails?: boolean
}

const frames = (events: readonly object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")
const answerText = '{"team":"x"}'
const usage = { input_tokens: 1, output_tokens: 1 }

/** The bodies of a loop with a long guide, and how many of them a backend had before it began to answer the first. */
async function loopOf(t: TestContext, { count, together, model = "", fails = false }: LoopCase) {
  const opened: string[] = []
  let beforeFirst = 0
  const [arrived, others] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
  const server = await startServer(async ({ body }, response) => {
    opened.push(body)
    const isFirst = opened.length === 1
    if (opened.length === together) arrived.resolve(undefined)
    if (opened.length === count) others.resolve(undefined)
    const isStream = (JSON.parse(body) as { stream?: boolean }).stream === true
    if (isFirst) {
      await arrived.promise
      // What would be sent beside it has time to arrive.
      if (together === 1) await new Promise((resolve) => setTimeout(resolve, 100))
      beforeFirst = opened.length
      if (fails) return response.writeHead(500).end("{}")
    }
    if (!isStream) {
      const content = [{ type: "text", text: answerText }]
      const whole = { id: "m", role: "assistant", content, stop_reason: "end_turn", usage }
      return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(whole))
    }
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(frames([{ type: "message_start", message: { id: "m", role: "assistant", content: [], usage } }]))
    // The answer goes on only when the others have been sent.
    await others.promise
    return response.end(
      frames([
        { type: "content_block_start", index: 0, content_block: { type: "text", text: answerText } },
        { type: "message_delta", delta: { stop_reason: "end_turn" }, usage },
        { type: "message_stop" },
      ]),
    )
  })
  t.after(() => server.close())
  const guide = "Billing answers questions about money. ".repeat(150)
  const source = `
input { tickets: [string] }
provider p from anthropic { endpoint: "${server.origin}/v1" }
model m from p { id: "m"  inference { max_retries: 1 retry_base_delay_ms: 1 } ${model} }
agent label for ticket in input.tickets { model: model.m  instruction: "${guide}{{ ticket }}"  output { team: string } }
output { found: agent.label }
`
  const service = await startService()
  const tickets = Array.from({ length: count }, (_, at) => `ticket ${at}`)
  const response = await service.post("/execute", { workflow_source: source, input: { tickets } })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return { beforeFirst, opened }
}

test("of a loop of eight one item goes ahead, streamed; the others follow when it begins to be answered", async (t) => {
  const { beforeFirst, opened } = await loopOf(t, { count: 8, together: 1 })
  assert.equal(beforeFirst, 1)
  assert.equal((JSON.parse(opened[0] ?? "") as { stream?: boolean }).stream, true)
  assert.equal((JSON.parse(opened[1] ?? "") as { stream?: boolean }).stream, undefined)
})

test("when the first one fails, the others wait no longer", async (t) => {
  const { opened } = await loopOf(t, { count: 8, together: 1, fails: true })
  assert.equal(opened.length, 9)
})

test("a shorter loop, and one without caches, sends all at once", async (t) => {
  assert.equal((await loopOf(t, { count: 7, together: 7 })).beforeFirst, 7)
  assert.equal((await loopOf(t, { count: 8, together: 8, model: "prompt_cache: none" })).beforeFirst, 8)
})
