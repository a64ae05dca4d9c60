import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, describe, it } from "node:test"
import { WireworksClient, WireworksError } from "../../support/built-client.ts"
import { startServer } from "../../support/http-server.ts"
import { within } from "../../support/within.ts"
import { allEvents } from "./read-stream.ts"
import { ada, errorOf, hello, oneAgent, startService, type TestService } from "./start-service.ts"
import { soakTest } from "../../support/strength.ts"

// Rows of one run in the database are damaged, each kind of them in turn, while the service is stopped.

const kinds: readonly (readonly [string, string])[] = [
  ["an event", "UPDATE events SET body = zeroblob(length(body)) WHERE run = ?"],
  ["the request", "UPDATE requests SET body = substr(body, 1, 20) WHERE run = ?"],
  ["the key", "UPDATE runs SET key = zeroblob(60) WHERE num = ?"],
]

/** The request of a run with an idempotency key is stored before its first events, in a row of its own. */
const keyed = { "idempotency-key": "damaged" }

async function interrupted(
  folder: string,
  headers: Record<string, string> = {},
): Promise<{ run_id: string; service: TestService; seen: number }> {
  const called = Promise.withResolvers<void>()
  const backend = await startServer(() => called.resolve())
  after(() => backend.close())
  const service = await startService({ STORE: "sqlite", DATA_DIR: folder })
  const body = { workflow_source: oneAgent(`${backend.origin}/v1`), input: ada }
  const response = await service.post("/execute", body, { accept: "text/event-stream", ...headers })
  const run_id = response.headers.get("x-service-run-id") ?? ""
  await within(30_000, "the call", called.promise)
  await service.stop()
  await response.body?.cancel()
  // Only now: the last events may have been stored after the call was made.
  const database = new DatabaseSync(join(folder, "wireworks.db"), { readOnly: true })
  const row = database
    .prepare("SELECT max(last) AS last FROM events JOIN runs ON num = run WHERE run_id = ?")
    .get(run_id)
  database.close()
  return { run_id, service, seen: row?.["last"] as number }
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "wire-damage-"))
  after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function damage(folder: string, run_id: string, sql: string): void {
  const database = new DatabaseSync(join(folder, "wireworks.db"))
  const num = database.prepare("SELECT num FROM runs WHERE run_id = ?").get(run_id)?.["num"] as number
  assert.ok(Number(database.prepare(sql).run(num).changes) > 0)
  database.close()
}

describe("a run with a damaged row", () => {
  for (const [what, sql] of kinds) {
    it(`fails when it is taken up, and nothing else does: ${what}`, async () => {
      const folder = newFolder()
      const { run_id, seen } = await interrupted(folder, what === "the request" ? keyed : {})
      damage(folder, run_id, sql)
      const service = await startService({ STORE: "sqlite", DATA_DIR: folder })
      const events = await within(
        30_000,
        "the end",
        service.get(`/execute/${run_id}/events?after=${seen}`).then(allEvents),
      )
      const end = events.at(-1)
      assert.ok(end?.type === "workflow_failed")
      const error = end.data["error"] as { kind: string; message: string }
      assert.equal(error.kind, "internal_error")
      assert.match(error.message, /damaged/)
      const record = (await (await service.get(`/execute/${run_id}`)).json()) as Record<string, unknown>
      assert.equal(record["status"], "failed")
      assert.equal((await service.post(`/execute/${run_id}/cancel`, "")).status, 200)
      assert.equal((await service.post("/execute", { workflow_source: hello, input: ada })).status, 200)
      assert.equal((await service.get("/readyz")).status, 200)
      await service.stop()
    })
  }

  it("that has ended already is reported as damaged, on every route and to the typed client", async () => {
    const folder = newFolder()
    const first = await startService({ STORE: "sqlite", DATA_DIR: folder })
    const done = await first.post("/execute", { workflow_source: hello, input: ada })
    const run_id = done.headers.get("x-service-run-id") ?? ""
    assert.equal(done.status, 200)
    await first.stop()
    damage(folder, run_id, kinds[0]?.[1] ?? "")
    const service = await startService({ STORE: "sqlite", DATA_DIR: folder })
    const refused = await errorOf(await service.get(`/execute/${run_id}`))
    assert.deepEqual([refused.status, refused.kind], [500, "internal_error"])
    assert.match(refused.message, /damaged/)
    const stream = await (await service.get(`/execute/${run_id}/events`)).text()
    assert.match(stream, /event: stream_error\ndata: \{"error":\{"kind":"internal_error"/)
    const client = new WireworksClient({ baseUrl: service.url })
    await assert.rejects(
      async () => {
        for await (const _ of client.follow(run_id));
      },
      (error: unknown) => error instanceof WireworksError && error.kind === "internal_error",
    )
    assert.equal((await service.get("/readyz")).status, 200)
  })
})

describe("a run that was given to another caller in the database", () => {
  it("shows nothing to that caller, on any route", async () => {
    const folder = newFolder()
    const keys = { API_KEYS: "ann:key-of-ann-123456,bob:key-of-bob-123456", STORE: "sqlite", DATA_DIR: folder }
    const [ann, bob] = ["ann", "bob"].map((name) => ({ authorization: `Bearer key-of-${name}-123456` }))
    const first = await startService(keys)
    const done = await first.post("/execute", { workflow_source: hello, input: ada }, ann)
    assert.equal(done.status, 200)
    const run_id = done.headers.get("x-service-run-id") ?? ""
    await first.stop()
    damage(folder, run_id, "UPDATE runs SET caller = 'bob' WHERE num = ?")
    const service = await startService(keys)
    for (const answer of [
      await service.get(`/execute/${run_id}`, bob),
      await service.get(`/execute/${run_id}/events`, bob),
      await service.post(`/execute/${run_id}/rerun`, {}, bob),
      await service.get(`/execute/${run_id}/questions`, bob),
    ]) {
      assert.doesNotMatch(await answer.text(), /Ada|Hello/)
    }
    assert.equal((await service.get(`/execute/${run_id}`, bob)).status, 500)
    assert.equal((await service.get(`/execute/${run_id}`, ann)).status, 404)
    await service.stop()
  })
})

describe("a run that retention deletes while it is read", () => {
  soakTest("its stream ends with an error that is not the run's end, for the typed client too", async () => {
    const folder = newFolder()
    const service = await startService({ STORE: "sqlite", DATA_DIR: folder, RETENTION: "300ms" })
    const items = JSON.stringify(Array.from({ length: 1000 }, (_, n) => `${n} ${"x".repeat(500)}`))
    const source = `
      provider p from openai { endpoint: "demo" }
      model m from p { id: "demo" }
      agent a for item in ${items} { model: model.m  instruction: "${"{{ item }}".repeat(15)}"  output { message: string } }
      output { m: "done" }
    `
    const client = new WireworksClient({ baseUrl: service.url })
    let run_id = ""
    const onRun = (id: string): void => {
      run_id = id
    }
    let last = 0
    let terminal = false
    const error = await within(
      60_000,
      "the end of the stream",
      (async () => {
        for await (const event of client.stream({ workflow_source: source }, { onRun })) {
          last = event.id
          terminal ||= event.type === "workflow_completed"
          // The run ends and is deleted while most of its events wait for this reader.
          if (last === 5) await untilGone(`${service.url}/execute/${run_id}/events`)
        }
        return null
      })().catch((caught: unknown) => caught),
    )
    assert.equal(terminal, false, "the stream was cut")
    assert.ok(last > 0)
    assert.ok(error instanceof WireworksError, String(error))
    assert.deepEqual([error.kind, error.status], ["run_expired", 410])
  })
})

async function untilGone(url: string): Promise<void> {
  while ((await fetch(url, { method: "HEAD" })).status !== 410) await new Promise((resolve) => setTimeout(resolve, 50))
}
