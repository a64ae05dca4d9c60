import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it, type TestContext } from "node:test"
import { fakeBackend, says } from "../../support/fake-backend.ts"
import { within } from "../../support/within.ts"
import { allEvents } from "./read-stream.ts"
import { ada, errorOf, hello, oneAgent, startService } from "./start-service.ts"

const prefer = { prefer: "respond-async" }
const folder = mkdtempSync(join(tmpdir(), "wireworks-async-"))
after(() => rmSync(folder, { recursive: true }))

interface Started {
  readonly run_id: string
  readonly status: string
}

/** A backend that answers when the test says so. */
async function held(t: TestContext) {
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  const { backend } = await fakeBackend(t, () => (reply, raw) => {
    asked.resolve()
    void answer.promise.then(() => says('{"message":"late"}')(reply, raw))
  })
  return {
    source: oneAgent(backend.endpoint),
    asked: within(30_000, "the model call", asked.promise),
    answer: answer.resolve,
  }
}

describe("Prefer: respond-async", async () => {
  const service = await startService()

  const record = async (run_id: string, query = ""): Promise<Record<string, unknown>> =>
    (await (await service.get(`/execute/${run_id}${query}`)).json()) as Record<string, unknown>

  it("answers 202 as soon as the run is stored, and the run goes on", async (t) => {
    const { source, asked, answer } = await held(t)
    const response = await service.post("/execute", { workflow_source: source, input: ada }, prefer)
    const started = (await response.json()) as Started
    const run_id = response.headers.get("x-service-run-id") ?? ""
    assert.equal(response.status, 202)
    assert.deepEqual(Object.keys(started), ["run_id", "status"])
    assert.equal(started.run_id, run_id)
    assert.match(started.status, /^(queued|running)$/)
    assert.equal(response.headers.get("location"), `/execute/${run_id}`)
    assert.equal(response.headers.get("preference-applied"), "respond-async")
    assert.equal(response.headers.get("idempotency-replayed"), null)
    await asked
    assert.equal((await record(run_id))["status"], "running")
    answer()
    const ended = await record(run_id, "?wait=30")
    assert.deepEqual([ended["status"], ended["output"]], ["completed", { message: "late" }])
  })

  it("replays with 202 and the present status; the header is not part of the fingerprint", async (t) => {
    const { source, asked, answer } = await held(t)
    const body = { workflow_source: source, input: ada }
    const key = { "idempotency-key": "async-1" }
    const first = (await (await service.post("/execute", body, { ...prefer, ...key })).json()) as Started
    await asked
    const again = await service.post("/execute", body, { ...prefer, ...key })
    assert.deepEqual([again.status, await again.json()], [202, { run_id: first.run_id, status: "running" }])
    assert.equal(again.headers.get("idempotency-replayed"), "true")
    const plain = service.post("/execute", body, key)
    answer()
    assert.deepEqual(await (await plain).json(), { message: "late" })
    const ended = await service.post("/execute", body, { ...prefer, ...key })
    assert.deepEqual([ended.status, await ended.json()], [202, { run_id: first.run_id, status: "completed" }])
    const other = await service.post("/execute", { ...body, input: { name: "Bob" } }, { ...prefer, ...key })
    assert.equal(other.status, 409)
  })

  it("says how a run that failed or was cancelled has ended", async (t) => {
    const failing = { workflow_source: oneAgent("http://127.0.0.1:1/v1"), input: ada }
    const key = { ...prefer, "idempotency-key": "async-failed" }
    const { run_id } = (await (await service.post("/execute", failing, key)).json()) as Started
    const ended = await record(run_id, "?wait=30")
    assert.equal(ended["status"], "failed")
    const replay = await service.post("/execute", failing, key)
    assert.deepEqual([replay.status, await replay.json()], [202, { run_id, status: "failed" }])
    const { source, asked } = await held(t)
    const body = { workflow_source: source, input: ada }
    const keyed = { ...prefer, "idempotency-key": "async-cancelled" }
    const started = (await (await service.post("/execute", body, keyed)).json()) as Started
    await asked
    await service.post(`/execute/${started.run_id}/cancel`, "")
    assert.equal((await record(started.run_id, "?wait=30"))["status"], "cancelled")
    const cancelled = await service.post("/execute", body, keyed)
    assert.deepEqual(await cancelled.json(), { run_id: started.run_id, status: "cancelled" })
  })

  it("refuses before the run what any execute refuses, and does not change a stream", async () => {
    const error = await errorOf(await service.post("/execute", { workflow_source: hello, input: {} }, prefer))
    assert.deepEqual([error.status, error.kind], [422, "input_error"])
    const stream = await service.post(
      "/execute",
      { workflow_source: hello, input: ada },
      { ...prefer, accept: "text/event-stream" },
    )
    assert.equal(stream.status, 200)
    assert.equal(stream.headers.get("preference-applied"), null)
    assert.equal((await allEvents(stream)).at(-1)?.type, "workflow_completed")
    for (const other of ["return=minimal", "wait=5"]) {
      const plain = await service.post("/execute", { workflow_source: hello, input: ada }, { prefer: other })
      assert.deepEqual([plain.status, await plain.json()], [200, { message: "Hello, Ada." }])
    }
  })

  it("resumes the run after a restart", async (t) => {
    const { source, asked, answer } = await held(t)
    const settings = { STORE: "sqlite", DATA_DIR: folder }
    const first = await startService(settings)
    const body = { workflow_source: source, input: ada }
    const { run_id } = (await (await first.post("/execute", body, prefer)).json()) as Started
    await asked
    await first.stop()
    answer()
    const second = await startService(settings)
    const ended = (await (await second.get(`/execute/${run_id}?wait=60`)).json()) as Record<string, unknown>
    assert.deepEqual([ended["status"], ended["output"]], ["completed", { message: "late" }])
    await second.stop()
  })
})

describe("GET /execute/{run_id}?wait=", async () => {
  const service = await startService()

  it("holds the answer until the run ends", async (t) => {
    const { source, asked, answer } = await held(t)
    const body = { workflow_source: source, input: ada }
    const { run_id } = (await (await service.post("/execute", body, prefer)).json()) as Started
    await asked
    let answered = false
    const waiting = service.get(`/execute/${run_id}?wait=60`).finally(() => (answered = true))
    const atOnce = (await (await service.get(`/execute/${run_id}?wait=0`)).json()) as Record<string, unknown>
    assert.equal(atOnce["status"], "running")
    assert.equal(answered, false)
    answer()
    const ended = (await (await within(30_000, "the held answer", waiting)).json()) as Record<string, unknown>
    assert.equal(ended["status"], "completed")
    await within(30_000, "the answer for an ended run", service.get(`/execute/${run_id}?wait=60`))
  })

  it("answers with the present record when the time is over", async (t) => {
    const { source, asked, answer } = await held(t)
    const body = { workflow_source: source, input: ada }
    const { run_id } = (await (await service.post("/execute", body, prefer)).json()) as Started
    await asked
    const from = performance.now()
    const { status } = (await (await service.get(`/execute/${run_id}?wait=1`)).json()) as Started
    assert.equal(status, "running")
    assert.ok(performance.now() - from >= 500)
    answer()
  })

  it("takes whole seconds from 0 to 60, and knows no other runs", async () => {
    for (const wait of ["61", "-1", "1.5", "x", "", "1e1", "9".repeat(30)]) {
      const error = await errorOf(await service.get(`/execute/nope?wait=${encodeURIComponent(wait)}`))
      assert.deepEqual([wait, error.status, error.kind], [wait, 400, "invalid_request"])
      assert.equal(error.issues[0]?.path, "wait")
    }
    assert.equal((await service.get("/execute/nope?wait=60")).status, 404)
    const twice = await errorOf(await service.get("/execute/nope?wait=1&wait=2"))
    assert.deepEqual([twice.status, twice.kind], [400, "invalid_request"])
  })
})
