import assert from "node:assert/strict"
import type { ServerResponse } from "node:http"
import type { TestContext } from "node:test"
import { describe, it } from "node:test"
import { WireworksClient, WireworksError } from "../../support/built-client.ts"
import { startServer } from "../../support/http-server.ts"
import { within } from "../../support/within.ts"
import { soakTest } from "../../support/strength.ts"

// The typed client, against servers that are not this service: what they send is an error that says so, in bounded memory and time.

type Reply = (response: ServerResponse) => void

async function against(t: TestContext, reply: Reply): Promise<{ client: WireworksClient; asked: () => number }> {
  let asked = 0
  const server = await startServer((_request, response) => {
    asked++
    reply(response)
  })
  t.after(() => server.close())
  return { client: new WireworksClient({ baseUrl: server.origin, maxReconnects: 1 }), asked: () => asked }
}

const json =
  (text: string, status = 200, headers: Record<string, string> = {}): Reply =>
  (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(text)
  }

const stream =
  (text: string): Reply =>
  (response) => {
    response.writeHead(200, { "content-type": "text/event-stream", "x-service-run-id": "r" }).end(text)
  }

/** Sends pieces without end, as fast as they are read. */
const endless =
  (begin: string, piece: string): Reply =>
  (response) => {
    response.writeHead(200, { "content-type": "text/event-stream", "x-service-run-id": "r" })
    response.write(begin)
    const chunk = Buffer.from(piece)
    const goOn = (): void => {
      while (!response.destroyed) if (!response.write(chunk)) return void response.once("drain", goOn)
    }
    goOn()
  }

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return within(
    60_000,
    "a rejection",
    promise.then(
      () => assert.fail("it was taken for an answer"),
      (error: unknown) => error,
    ),
  )
}

async function firstEvent(client: WireworksClient): Promise<unknown> {
  for await (const event of client.stream({ workflow_source: "" })) return event
  return null
}

describe("the typed client on a hostile server", () => {
  it("takes no answer that is not an object, or lacks its list", async (t) => {
    const calls: readonly ((client: WireworksClient) => Promise<unknown>)[] = [
      (client) => client.execute({ workflow_source: "" }),
      (client) => client.start({ workflow_source: "" }),
      (client) => client.run("x"),
      (client) => client.cancel("x"),
      (client) => client.validate(""),
      (client) => client.workflows(),
      (client) => client.questions("x"),
    ]
    for (const text of ["<html>", "", "null", "[]", "5"]) {
      const { client } = await against(t, json(text))
      for (const call of calls) {
        const error = await rejection(call(client))
        assert.ok(error instanceof WireworksError, String(error))
        assert.equal(error.kind, "internal_error")
        assert.match(error.message, /status 200 and nothing that can be read/)
      }
    }
    const { client } = await against(t, json("{}", 202))
    assert.ok((await rejection(client.execute({ workflow_source: "" }))) instanceof WireworksError)
    assert.ok((await rejection(client.workflows())) instanceof WireworksError)
  })

  it("gives errors their shape, whatever they have", async (t) => {
    const rows: readonly (readonly [text: string, kind: string, message: string])[] = [
      ['{"error":{"kind":"conflict"}}', "conflict", "conflict"],
      ['{"error":{"kind":"conflict","message":5,"issues":"no"}}', "conflict", "conflict"],
      ['{"error":{"kind":"conflict","message":"m","issues":[null,5]}}', "conflict", "m"],
      ['{"error":"no"}', "invalid_request", "The service answered with status 409"],
      ["null", "invalid_request", "The service answered with status 409"],
    ]
    for (const [text, kind, message] of rows) {
      const { client } = await against(t, json(text, 409))
      const error = await rejection(client.run("x"))
      assert.ok(error instanceof WireworksError)
      assert.deepEqual([error.kind, error.message, error.issues], [kind, message, []])
    }
  })

  soakTest("reads no more of an answer, an event or a list than can be one", async (t) => {
    const piece = "x".repeat(1 << 20)
    const answer = await against(t, endless('{"a":"', piece))
    assert.ok((await rejection(answer.client.run("x"))) instanceof WireworksError)
    for (const reply of [endless("data: ", piece), endless("", `data: ${piece}\n`)]) {
      const events = await against(t, reply)
      assert.match(String(await rejection(firstEvent(events.client))), /An event of the stream is too large/)
      // It would be as large again.
      assert.equal(events.asked(), 1)
    }
    let page = 0
    const list = await against(t, (response) => json(`{"workflows":[],"next":"${page++}"}`)(response))
    assert.ok((await rejection(list.client.workflows())) instanceof WireworksError)
  })

  it("goes on after an event that is none", async (t) => {
    const end = `id: 7\nevent: workflow_cancelled\ndata: {"duration_ms":1}\n\n`
    const odd = `event: stream_error\ndata: {"error":null}\n\nevent: stream_error\ndata: null\n\nid: x\nevent: y\ndata: 1\n\n`
    const { client } = await against(t, stream(odd + end))
    assert.deepEqual(await firstEvent(client), { id: 7, type: "workflow_cancelled", data: { duration_ms: 1 } })
  })

  it("waits a minute at most where a server asks for years", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] })
    const { client, asked } = await against(
      t,
      json('{"error":{"kind":"overloaded","message":"m","issues":[]}}', 503, { "retry-after": "999999999" }),
    )
    const waits = Promise.withResolvers<void>()
    const events = client.stream({ workflow_source: "" }, { onReconnect: () => waits.resolve() })
    const first = events.next()
    await waits.promise
    await new Promise((resolve) => setImmediate(resolve))
    t.mock.timers.tick(60_000)
    await assert.rejects(first, WireworksError)
    assert.equal(asked(), 2)
  })
})
