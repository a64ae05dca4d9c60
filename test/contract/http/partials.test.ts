import assert from "node:assert/strict"
import { describe, it } from "node:test"
import type { AgentPartial } from "../../../src/client/client.ts"
import { WireworksClient } from "../../support/built-client.ts"
import { cuttingProxy } from "../../support/cutting-proxy.ts"
import { fakeBackend, sse, streamOf } from "../../support/fake-backend.ts"
import { collect, eventsOf, type SeenEvent } from "./read-stream.ts"
import { ada, hello, oneAgent, startService } from "./start-service.ts"

// `options.partials`: the fields of outputs while they are written.

const partialFrame = /^event: agent_partial\ndata: (.*)$/

const partialsIn = (frames: readonly string[]): AgentPartial[] =>
  frames.flatMap((frame) => {
    const data = partialFrame.exec(frame)?.[1]
    return data === undefined ? [] : [JSON.parse(data) as AgentPartial]
  })

/** The events of a stream and, in the order in which they came, its partials. */
async function readAll(
  response: Response,
): Promise<{ readonly events: SeenEvent[]; readonly partials: AgentPartial[] }> {
  const other: string[] = []
  const events = await collect(eventsOf(response, other))
  return { events, partials: partialsIn(other) }
}

const joined = (partials: readonly AgentPartial[], path: string): string =>
  partials.map((part) => (part.path === path && !part.done ? part.delta : "")).join("")
const valueOf = (partials: readonly AgentPartial[], path: string): unknown =>
  partials.findLast((part) => part.path === path && part.done)

const stream = { accept: "text/event-stream" }

describe("the fields of outputs while they are written", async () => {
  const service = await startService()
  const execute = (workflow_source: string, options: object, more: object = {}): Promise<Response> =>
    service.post("/execute", { workflow_source, input: ada, options, ...more }, stream)

  it("come in frames without an id, and are the output in the end", async () => {
    const { events, partials } = await readAll(await execute(hello, { partials: true }))
    assert.equal(joined(partials, "message"), "Hello, Ada.")
    assert.deepEqual(partials.at(-1), { agent: "reply", attempt: 1, path: "message", value: "Hello, Ada.", done: true })
    assert.ok(events.some(({ type }) => type === "agent_delta"))
    assert.deepEqual(
      events.map(({ id }) => id),
      events.map((_, at) => at + 1),
    )
  })

  it("do not come unless they are asked for", async () => {
    for (const options of [{}, { deltas: true }, { partials: false }, { partials: null }]) {
      const { events, partials } = await readAll(await execute(hello, options))
      assert.deepEqual(partials, [])
      assert.ok(!("partials" in (events[1]?.data ?? {})))
    }
  })

  it("go on where a stream is resumed, whatever the last event was", async () => {
    const response = await execute(hello, { partials: true })
    const run_id = response.headers.get("x-service-run-id") ?? ""
    const { events, partials } = await readAll(response)
    const again = await readAll(await service.get(`/execute/${run_id}/events`))
    assert.deepEqual(again.partials, partials)
    const lastDelta = events.findLast(({ type }) => type === "agent_delta")?.id ?? 0
    for (const { id } of events.slice(0, -1)) {
      const rest = await readAll(await service.get(`/execute/${run_id}/events?after=${id}`))
      assert.deepEqual(rest.partials, partials.slice(partials.length - rest.partials.length))
      // One who has read up to an event has had the partials that come from it.
      assert.equal(rest.partials.length === 0, id >= lastDelta)
    }
  })

  it("come to the client once each, also by way of connections that break", async (t) => {
    const proxy = await cuttingProxy(service.url, { bytes: (n) => (n === 1 ? null : n < 40 ? 900 + n * 90 : null) })
    t.after(() => proxy.close())
    const client = new WireworksClient({
      baseUrl: proxy.origin,
      fetch: async (...call) => {
        const response = await fetch(...call)
        const hurry = new TransformStream<string, string>({
          transform: (chunk, controller) => controller.enqueue(chunk.replace("retry: 1000", "retry: 1")),
        })
        if (!(response.headers.get("content-type") ?? "").startsWith("text/event-stream")) return response
        const body = response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(hurry)
        return new Response(body?.pipeThrough(new TextEncoderStream()) ?? null, response)
      },
      maxReconnects: 100,
    })
    const { run_id } = await client.start({ workflow_source: hello, input: ada, options: { partials: true } })
    const run = await client.run(run_id, { wait: 30 })
    const partials = await collect(run.partials())
    assert.equal(joined(partials, "message"), "Hello, Ada.")
    assert.equal(partials.filter(({ done }) => done).length, 1)
    const heard: AgentPartial[] = []
    await collect(client.follow(run_id, { onPartial: (part) => void heard.push(part) }))
    assert.deepEqual(heard, partials)
  })

  it("come whole at the end where the text is fenced, and begin anew where it is rejected", async (t) => {
    const answers = ['{"message":12}', '```json\n{"message":"hi"}\n```']
    const { backend } = await fakeBackend(t, (_, n) => sse(streamOf(answers[n - 1] ?? "")))
    const source = oneAgent(backend.endpoint).replace("output_retries: 0", "output_retries: 1")
    const { partials } = await readAll(await execute(source, { partials: true }))
    assert.deepEqual(partials, [
      { agent: "reply", attempt: 1, path: "message", value: 12, done: true },
      { agent: "reply", attempt: 2, path: "message", value: "hi", done: true },
    ])
  })

  it("hold no secret, however it is cut or escaped", async (t) => {
    const secret = 'k3y/with\\odd"é<parts>'
    const plain = JSON.stringify({ message: `It is ${secret}!` })
    const ascii = (letter: string): string => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`
    const forms = [
      plain,
      plain.replaceAll("/", "\\/"),
      plain.replaceAll(/[^\0-\x7f]/g, ascii),
      plain.replaceAll(/[^\0-\x7f]|[<>]/g, ascii),
      plain.replace("k3y", ascii("k") + "3y"),
    ]
    for (const [at, text] of forms.entries()) {
      const { backend } = await fakeBackend(t, () => sse(streamOf(text, text.length)))
      const source = `secrets { key: string }\n${oneAgent(backend.endpoint, "api_key: secrets.key")}`
      const response = await execute(source, { partials: true }, { secrets: { key: secret } })
      const { partials } = await readAll(response)
      const shown = JSON.stringify(partials)
      assert.ok(!shown.includes("with\\\\odd"), `${at}: ${shown}`)
      assert.ok(!joined(partials, "message").includes("with"), `${at}: ${joined(partials, "message")}`)
      assert.deepEqual(valueOf(partials, "message"), {
        agent: "reply",
        attempt: 1,
        path: "message",
        value: "It is [secret:key]!",
        done: true,
      })
    }
  })
})
