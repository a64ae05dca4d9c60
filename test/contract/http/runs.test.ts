import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { fakeBackend, says } from "../../support/fake-backend.ts"
import { within } from "../../support/within.ts"
import { allEvents, collect, eventsOf, isEnd } from "./read-stream.ts"
import { ada, errorOf, hello, oneAgent, startService } from "./start-service.ts"

describe("a run's record, events and cancellation", async () => {
  const service = await startService()
  const sse = { accept: "text/event-stream" }

  async function finished(): Promise<string> {
    const response = await service.post("/execute", { workflow_source: hello, input: ada })
    await response.json()
    return response.headers.get("x-service-run-id") ?? ""
  }

  it("has the path of the list too: record, events, cancellation and deletion", async () => {
    const run_id = await finished()
    for (const path of ["", "?wait=1", "/events", "/events?after=3", "/events?after=x", "/cancel"]) {
      const of = async (root: string): Promise<readonly unknown[]> => {
        const method = path === "/cancel" ? "POST" : "GET"
        const response = await fetch(`${service.url}${root}/${run_id}${path}`, { method })
        return [response.status, response.headers.get("content-type"), await response.text()]
      }
      assert.deepEqual(await of("/runs"), await of("/execute"), path)
    }
    const remove = (): Promise<Response> => fetch(`${service.url}/runs/${run_id}`, { method: "DELETE" })
    assert.deepEqual([(await remove()).status, (await remove()).status], [204, 410])
    for (const path of [`/runs/${run_id}`, `/runs/${run_id}/events`, `/execute/${run_id}`]) {
      const refused = await fetch(`${service.url}${path}?wait=1`, { method: "PUT" })
      assert.equal(refused.status, 405)
      const { error } = (await refused.json()) as { readonly error: { readonly message: string } }
      assert.equal(error.message, `${path} takes ${refused.headers.get("allow")}`)
    }
    assert.equal((await service.get("/runs")).status, 200)
    assert.equal((await service.get("/runs/unknown")).status, 404)
    assert.equal((await service.get(`/runs/${run_id}/calls/x`)).status, 404)
  })

  it("has a record", async () => {
    const run_id = await finished()
    const record = (await (await service.get(`/execute/${run_id}`)).json()) as Record<string, unknown>
    assert.deepEqual(Object.keys(record), [
      "run_id",
      "status",
      "created_at",
      "finished_at",
      "output",
      "error",
      "usage",
      "last_event_id",
      "workflow",
      "version",
      "trace_id",
      "rerun_of",
      "batches",
      "scores",
      "notifications",
    ])
    assert.equal(record["status"], "completed")
    assert.deepEqual(record["output"], { message: "Hello, Ada." })
    assert.equal(record["last_event_id"], 5)
    assert.equal(record["error"], null)
  })

  it("replays the same events, with the same ids and data", async () => {
    const run_id = await finished()
    const first = await allEvents(await service.get(`/execute/${run_id}/events`))
    assert.deepEqual(await allEvents(await service.get(`/execute/${run_id}/events`)), first)
    assert.deepEqual(await allEvents(await service.get(`/execute/${run_id}/events?after=2`)), first.slice(2))
    const header = { "last-event-id": "3" }
    assert.deepEqual(await allEvents(await service.get(`/execute/${run_id}/events?after=1`, header)), first.slice(3))
  })

  it("answers 204 when nothing is left, 400 for a cursor that cannot be", async () => {
    const run_id = await finished()
    assert.equal((await service.get(`/execute/${run_id}/events?after=5`)).status, 204)
    for (const cursor of ["6", "-1", "1.5", "x", "1e3", "", " 1", "9".repeat(20)]) {
      const response = await service.get(`/execute/${run_id}/events?after=${encodeURIComponent(cursor)}`)
      const error = await errorOf(response)
      assert.deepEqual([cursor, error.status, error.kind], [cursor, 400, "invalid_request"])
    }
    assert.equal((await service.get(`/execute/${run_id}/events`, { "last-event-id": "no" })).status, 400)
  })

  it("waits for events past the last one of a running run", async (t) => {
    const answer = Promise.withResolvers<void>()
    const { backend } = await fakeBackend(t, () => (reply, raw) => {
      void answer.promise.then(() => says('{"message":"late"}')(reply, raw))
    })
    const started = await service.post("/execute", { workflow_source: oneAgent(backend.endpoint), input: ada }, sse)
    const run_id = started.headers.get("x-service-run-id") ?? ""
    const following = await service.get(`/execute/${run_id}/events?after=4`)
    const events = allEvents(following)
    const beyond = await service.get(`/execute/${run_id}/events?after=${"9".repeat(30)}`)
    assert.equal(beyond.status, 200)
    const nothing = allEvents(beyond)
    answer.resolve()
    assert.deepEqual(
      (await events).map(({ id }) => id),
      [5],
    )
    assert.deepEqual(await nothing, [])
    await started.body?.cancel()
  })

  it("does not know other runs", async () => {
    for (const [method, path] of [
      ["GET", "/execute/nope"],
      ["GET", "/execute/nope/events"],
      ["POST", "/execute/nope/cancel"],
      ["GET", `/execute/${"x".repeat(150)}`],
      ["GET", "/execute/%00"],
    ] as const) {
      const error = await errorOf(await fetch(`${service.url}${path}`, { method }))
      assert.deepEqual([path, error.status, error.kind], [path, 404, "not_found"])
    }
  })

  it("cancels: 202, then the terminal event, by which no call is open; 200 with the final status after that", async (t) => {
    const closed = Promise.withResolvers<void>()
    const { backend } = await fakeBackend(t, () => (reply) => reply.on("close", () => closed.resolve()))
    const started = await service.post("/execute", { workflow_source: oneAgent(backend.endpoint), input: ada }, sse)
    const run_id = started.headers.get("x-service-run-id") ?? ""
    const events = eventsOf(started)
    for await (const { type } of { [Symbol.asyncIterator]: () => ({ next: () => events.next() }) }) {
      if (type === "agent_started") break
    }
    const cancelled = await service.post(`/execute/${run_id}/cancel`, "")
    assert.equal(cancelled.status, 202)
    assert.deepEqual(await cancelled.json(), { run_id, status: "cancelling" })
    await within(30_000, "the upstream socket's end", closed.promise)
    const rest = await collect(events)
    assert.equal(rest.at(-1)?.type, "workflow_cancelled")
    const again = await service.post(`/execute/${run_id}/cancel`, {})
    assert.deepEqual([again.status, await again.json()], [200, { run_id, status: "cancelled" }])
    const record = (await (await service.get(`/execute/${run_id}`)).json()) as { status: string; output: unknown }
    assert.deepEqual([record.status, record.output], ["cancelled", null])
  })

  it("cancels without a body, of whatever type none is said to be", async () => {
    const run_id = await finished()
    const url = `${service.url}/execute/${run_id}/cancel`
    for (const type of [undefined, "application/json", "application/x-www-form-urlencoded", "text/plain", "a/b"]) {
      const headers = type === undefined ? {} : { "content-type": type }
      assert.equal((await fetch(url, { method: "POST", headers })).status, 200, type)
    }
    for (const type of ["application/x-www-form-urlencoded", "text/plain", "a/b"]) {
      const refused = await fetch(url, { method: "POST", headers: { "content-type": type }, body: "x" })
      assert.equal(refused.status, 415, type)
    }
  })

  it("tells a JSON-mode client that its run was cancelled", async (t) => {
    const called = Promise.withResolvers<void>()
    const { backend } = await fakeBackend(t, () => () => called.resolve())
    const key = { "idempotency-key": "cancel-me" }
    const body = { workflow_source: oneAgent(backend.endpoint), input: ada }
    const waiting = service.post("/execute", body, key)
    await called.promise
    const other = await service.post("/execute", body, { ...key, ...sse })
    const run_id = other.headers.get("x-service-run-id") ?? ""
    await other.body?.cancel()
    await service.post(`/execute/${run_id}/cancel`, "")
    const error = await errorOf(await waiting)
    assert.deepEqual([error.status, error.kind], [409, "cancelled"])
  })

  it("is not cancelled when a streaming client goes away", async (t) => {
    const answer = Promise.withResolvers<void>()
    const { backend } = await fakeBackend(t, () => (reply, raw) => {
      void answer.promise.then(() => says('{"message":"done"}')(reply, raw))
    })
    const started = await service.post("/execute", { workflow_source: oneAgent(backend.endpoint), input: ada }, sse)
    const run_id = started.headers.get("x-service-run-id") ?? ""
    await started.body?.cancel()
    answer.resolve()
    const events = await allEvents(await service.get(`/execute/${run_id}/events`))
    assert.equal(events.at(-1)?.type, "workflow_completed")
    assert.equal(events.filter(isEnd).length, 1)
  })
})

describe("retention", async () => {
  it("answers 410 for a run that has been deleted", async () => {
    const service = await startService({ RETENTION: "1ms" })
    const response = await service.post("/execute", { workflow_source: hello, input: ada })
    const run_id = response.headers.get("x-service-run-id") ?? ""
    await response.json()
    const deadline = Date.now() + 60_000
    while ((await service.get(`/execute/${run_id}`)).status !== 410)
      assert.ok(Date.now() < deadline, "it was not deleted")
    for (const path of [`/execute/${run_id}`, `/execute/${run_id}/events`]) {
      const error = await errorOf(await service.get(path))
      assert.deepEqual([error.status, error.kind], [410, "run_expired"])
    }
  })
})
