import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { test, type TestContext } from "node:test"
import type { LogEvent } from "../log/events.ts"
import { Damaged, StoreFailure } from "../ports/store.ts"
import { EventStreams } from "./event-stream.ts"
import { StreamPartials } from "./stream-partials.ts"

const started: LogEvent = { id: 1, type: "workflow_started", at: "2026-11-15T01:00:00.000Z", data: {} }
const ended: LogEvent = {
  id: 2,
  type: "workflow_cancelled",
  at: "2026-11-15T01:00:00.000Z",
  data: { duration_ms: 1, at: "2026-11-15T01:00:00.000Z" },
}

/** A stream over HTTP: its text, when it has ended. */
async function streamed(t: TestContext, send: (response: ServerResponse) => Promise<unknown>): Promise<Response> {
  const server = createServer((_, response) => void send(response))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  t.after(() => server.close())
  return fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

const noPartials = (): StreamPartials => new StreamPartials(async () => [])
const aborted = (signal: AbortSignal) => new Promise<void>((done) => signal.addEventListener("abort", () => done()))
const isOverloaded = /^id: 1\n[^]*\n\nevent: stream_error\ndata: \{"error":\{"kind":"overloaded",[^\n]*\}\n\n$/

test("a stream whose store cannot be read says so, and that its client may come back", async (t) => {
  const streams = new EventStreams()
  for (const [failure, kind] of [
    [new StoreFailure("The server is gone"), "overloaded"],
    [new Damaged("bad"), "internal_error"],
  ] as const) {
    async function* follow(): AsyncGenerator<LogEvent> {
      yield started
      throw failure
    }
    const response = await streamed(t, (raw) => streams.send(raw, {}, follow, noPartials()))
    const text = await response.text()
    assert.ok(text.includes(`event: stream_error\ndata: {"error":{"kind":"${kind}"`), text)
  }
  assert.equal(streams.size, 0)
  streams.close()
})

test("streams of runs are given up with the store, those of other APIs are not", async (t) => {
  const streams = new EventStreams()
  const waits = Promise.withResolvers<void>()
  async function* follow(signal: AbortSignal): AsyncGenerator<LogEvent> {
    yield started
    waits.resolve()
    await aborted(signal)
  }
  const goesOn = Promise.withResolvers<void>()
  async function* texts(): AsyncGenerator<string> {
    yield "first"
    await goesOn.promise
    yield "second"
  }
  const ofRun = await streamed(t, (raw) => streams.send(raw, {}, follow, noPartials()))
  const ofOther = await streamed(t, (raw) => streams.sendText(raw, {}, texts))
  await waits.promise
  streams.giveUp(new StoreFailure("The server is gone"))
  assert.match((await ofRun.text()).replace("retry: 1000\n\n", ""), isOverloaded)
  goesOn.resolve()
  assert.equal(await ofOther.text(), "firstsecond")
  streams.close()
})

test("a stream that has had its last event ends without an error", async (t) => {
  const streams = new EventStreams()
  async function* follow(): AsyncGenerator<LogEvent> {
    yield started
    yield ended
    streams.giveUp(new StoreFailure("The server is gone"))
  }
  const response = await streamed(t, (raw) => streams.send(raw, {}, follow, noPartials()))
  const text = await response.text()
  assert.match(text, /event: workflow_cancelled\n[^\n]*\n\n$/)
  streams.close()
})
