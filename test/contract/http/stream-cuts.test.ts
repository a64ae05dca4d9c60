import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import type { IncomingMessage } from "node:http"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, describe, it } from "node:test"
import { fc } from "../../support/fast-check.ts"
import { sse, streamOf } from "../../support/fake-backend.ts"
import type { TestServer } from "../../support/http-server.ts"
import { startServer } from "../../support/http-server.ts"
import { within } from "../../support/within.ts"
import type { SeenEvent } from "./read-stream.ts"
import { allEvents, isEnd, parseFrame } from "./read-stream.ts"
import type { TestService } from "./start-service.ts"
import { startService } from "./start-service.ts"

// Whatever is cut, wherever: a client that comes back with the last id that it has sees the log, each event once.

const folder = mkdtempSync(join(tmpdir(), "wire-cuts-"))
after(() => rmSync(folder, { recursive: true, force: true }))

let backend: TestServer
before(async () => {
  // Answers in pieces, some at once and some a little later, so that runs are cut while they go on.
  backend = await startServer((asked, response, raw) => {
    const delay = asked.body.length % 7
    const streamed = asked.body.includes('"stream":true')
    const answer = sse(streamOf(`{"message":"${"ä€😀 ".repeat(5)}"}`, 6), {})
    const send = (): void => {
      if (streamed) answer(response, raw)
      else
        response.end(
          '{"output":[{"type":"message","content":[{"type":"output_text","text":"{\\"message\\":\\"a\\"}"}]}]}',
        )
    }
    if (delay === 0) send()
    else setTimeout(send, delay)
  })
})
after(() => backend.close())

const source = (): string => `
input { items: [string] }
provider p from openai { endpoint: "${backend.origin}/v1" }
model m from p { id: "m" }
agent each for item in input.items {
    model: model.m
    instruction: "Say {{ item }}."
    output { message: string }
}
agent last {
    model: model.m
    instruction: "Join {{ agent.each.*.message }}."
    output { message: string }
}
output { message: agent.last.message }
`

/** One connection, cut after this many bytes of its body (null: read to its end). */
interface Connection {
  readonly run_id: string
  readonly status: number
  readonly events: readonly SeenEvent[]
}

function connect(
  port: number,
  how: { method: string; path: string; headers: Record<string, string>; body: string },
  cut: number | null,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const call = request({ port, host: "127.0.0.1", ...how, agent: false }, (response: IncomingMessage) => {
      const run_id = String(response.headers["x-service-run-id"] ?? "")
      const chunks: Buffer[] = []
      let bytes = 0
      const finish = (): void => {
        response.destroy()
        const body = Buffer.concat(chunks)
        const text = body.subarray(0, cut === null ? body.length : cut).toString("utf8")
        const frames = text.split("\n\n").slice(0, -1)
        const events = frames.map(parseFrame).filter((event) => event !== undefined)
        resolve({ run_id, status: response.statusCode ?? 0, events })
      }
      if (cut === 0) {
        finish()
        return
      }
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk)
        bytes += chunk.length
        if (cut !== null && bytes >= cut) finish()
      })
      response.on("end", finish)
      response.on("error", reject)
    })
    call.on("error", reject)
    call.end(how.body)
  })
}

interface Reader {
  readonly cuts: readonly number[]
  readonly byQuery: boolean
}

/** Reads a run to its end, cut again and again. */
async function readOn(port: number, run_id: string, seen: SeenEvent[], { cuts, byQuery }: Reader): Promise<void> {
  for (const cut of [...cuts, null]) {
    const last = seen.at(-1)?.id ?? 0
    const path = `/execute/${run_id}/events`
    const how = byQuery
      ? { path: `${path}?after=${last}`, headers: {} }
      : { path, headers: { "last-event-id": String(last) } }
    const { events, status } = await connect(port, { method: "GET", body: "", ...how }, cut)
    seen.push(...events)
    const ended = seen.some(isEnd)
    assert.ok(status === 200 || (status === 204 && ended), `status ${status}`)
    if (status === 204) return
  }
}

const reader = fc.record({
  cuts: fc.array(fc.oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 20_000 })), { maxLength: 12 }),
  byQuery: fc.boolean(),
})

const stores: Record<string, Record<string, string>> = {
  memory: { STORE: "memory" },
  SQLite: { STORE: "sqlite", DATA_DIR: folder },
}

for (const [name, variables] of Object.entries(stores)) {
  describe(`streams that are cut (${name})`, async () => {
    const service: TestService = await startService(variables)

    it("add up to the log, each event once", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 0, max: 12 }),
          fc.boolean(),
          fc.integer({ min: 0, max: 3000 }),
          fc.array(reader, { minLength: 1, maxLength: 3 }),
          async (items, deltas, firstCut, readers) => {
            const body = JSON.stringify({
              workflow_source: source(),
              input: { items: Array.from({ length: items }, (_, n) => "x".repeat(n)) },
              options: { deltas, max_concurrency: 3 },
            })
            const headers = { accept: "text/event-stream", "content-type": "application/json" }
            const first = await connect(service.port, { method: "POST", path: "/execute", headers, body }, firstCut)
            const seen = [[...first.events], ...readers.slice(1).map((): SeenEvent[] => [])]
            const reading = readers.map((one, index) => readOn(service.port, first.run_id, seen[index] ?? [], one))
            await within(60_000, "the end of all readers", Promise.all(reading))
            const log = await allEvents(await service.get(`/execute/${first.run_id}/events`))
            assert.equal(log.at(-1)?.type, "workflow_completed")
            assert.deepEqual(
              log.map(({ id }) => id),
              log.map((_, index) => index + 1),
            )
            for (const events of seen) assert.deepEqual(events, log)
          },
        ),
        { numRuns: 25 },
      )
    })
  })
}
