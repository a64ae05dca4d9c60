import assert from "node:assert/strict"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, test } from "node:test"
import type { RunsAnswer } from "../../../src/api/runs.ts"
import { createClient, WireworksError } from "../../support/built-client.ts"
import { ada, errorOf, heldAgent, hello, oneAgent, startService, type TestService } from "./start-service.ts"

const asks = `
ask review {
    question: "Publish?"
    output { publish: boolean }
}
output { published: ask.review.publish }
`

function remove(service: TestService, run_id: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${service.url}/execute/${run_id}`, { method: "DELETE", headers })
}

async function run(service: TestService, headers: Record<string, string> = {}): Promise<string> {
  const response = await service.post("/execute", { workflow_source: hello, input: ada }, headers)
  assert.equal(response.status, 200)
  await response.arrayBuffer()
  return response.headers.get("x-service-run-id") ?? ""
}

async function listed(service: TestService, query = "", headers: Record<string, string> = {}): Promise<string[]> {
  const { runs } = (await (await service.get(`/runs${query}`, headers)).json()) as RunsAnswer
  return runs.map(({ run_id }) => run_id)
}

for (const store of ["memory", "sqlite"]) {
  describe(`DELETE /execute/{run_id}, ${store}`, async () => {
    const service = await startService({ STORE: store, DATA_DIR: mkdtempSync(join(tmpdir(), "wireworks-delete-")) })

    test("a deleted run is 410 everywhere, and not listed", async () => {
      const run_id = await run(service)
      const other = await run(service)
      const deleted = await remove(service, run_id)
      assert.equal(deleted.status, 204)
      assert.equal(await deleted.text(), "")
      for (const path of ["", "?wait=1", "/events", "/questions"]) {
        const error = await errorOf(await service.get(`/execute/${run_id}${path}`))
        assert.deepEqual([error.status, error.kind], [410, "run_expired"], path)
        assert.match(error.message, /deleted: by request/)
      }
      for (const path of ["/cancel", "/rerun"]) {
        assert.equal((await service.post(`/execute/${run_id}${path}`, {})).status, 410, path)
      }
      const answer = await service.post(`/execute/${run_id}/questions/q1`, { answer: {} })
      assert.equal(answer.status, 410)
      assert.equal((await remove(service, run_id)).status, 410)
      const left = await listed(service)
      assert.ok(!left.includes(run_id) && left.includes(other))
      assert.equal((await remove(service, "nothing")).status, 404)
    })

    test("a run that has not ended is 409, with what to do", async () => {
      const held = await heldAgent()
      const headers = { prefer: "respond-async" }
      const body = { workflow_source: held.source, input: ada }
      const { run_id } = (await (await service.post("/execute", body, headers)).json()) as { run_id: string }
      const error = await errorOf(await remove(service, run_id))
      assert.deepEqual([error.status, error.kind], [409, "conflict"])
      assert.match(error.message, /has not ended: cancel it first/)
      held.release()
      await service.get(`/execute/${run_id}?wait=60`)
      assert.equal((await remove(service, run_id)).status, 204)
    })

    test("the questions of a deleted run are gone", async () => {
      const started = await service.post("/execute", { workflow_source: asks })
      const { run_id, questions } = (await started.json()) as { run_id: string; questions: { id: string }[] }
      assert.equal((await remove(service, run_id)).status, 409)
      await service.post(`/execute/${run_id}/questions/${questions[0]?.id}`, { answer: { publish: true } })
      await service.get(`/execute/${run_id}?wait=60`)
      const answered = (): Promise<{ questions: { run_id: string }[] }> =>
        service.get("/questions?status=answered").then((response) => response.json() as never)
      assert.ok((await answered()).questions.some((question) => question.run_id === run_id))
      assert.equal((await remove(service, run_id)).status, 204)
      assert.ok(!(await answered()).questions.some((question) => question.run_id === run_id))
    })

    test("the Idempotency-Key of a deleted run starts another one", async () => {
      const headers = { "idempotency-key": "once" }
      const first = await run(service, headers)
      assert.equal(await run(service, headers), first)
      assert.equal((await remove(service, first)).status, 204)
      assert.notEqual(await run(service, headers), first)
    })

    test("the list is filtered by status, time and kind of error", async () => {
      const failing = oneAgent("http://127.0.0.1:9/v1")
      const failed = await service.post("/execute", { workflow_source: failing, input: ada })
      assert.ok(failed.status >= 500)
      const run_id = failed.headers.get("x-service-run-id") ?? ""
      const [newest] = ((await (await service.get("/runs?limit=1")).json()) as RunsAnswer).runs
      const { error_kind } = newest ?? {}
      // The store's time, which may differ by some milliseconds from that of this process.
      const before = new Date(newest?.created_at ?? "")
      assert.equal(error_kind, (await errorOf(failed)).kind)
      assert.deepEqual(await listed(service, `?status=failed&error_kind=${error_kind}`), [run_id])
      assert.deepEqual(await listed(service, `?since=${before.toISOString()}`), [run_id])
      assert.deepEqual(await listed(service, `?since=${before.toISOString()}&status=completed`), [])
      assert.deepEqual(await listed(service, "?since=2100-01-01T00:00:00%2B02:00"), [])
      assert.equal((await listed(service, "?status=failed")).length, 1)
      const wrong = {
        "since=yesterday": /RFC 3339/,
        "since=2026-02-30T00:00:00Z": /RFC 3339/,
        "error_kind=bad_luck": /one of/,
        "status=over": /one of/,
      }
      for (const [query, sentence] of Object.entries(wrong)) {
        const error = await errorOf(await service.get(`/runs?${query}`))
        assert.equal(error.status, 400, query)
        assert.match(error.message, sentence, query)
      }
      const client = createClient({ baseUrl: service.url })
      const found = await client.runs({ since: before, status: "failed" })
      assert.deepEqual(
        found.runs.map((one) => one.run_id),
        [run_id],
      )
      await client.delete(run_id)
      await assert.rejects(client.run(run_id), (error) => error instanceof WireworksError && error.status === 410)
      await assert.rejects(client.delete(run_id), WireworksError)
    })
  })
}

test("a deletion makes room for a caller who has stored as much as is allowed", async () => {
  const service = await startService({ MAX_STORED_PER_CALLER: "20kb" })
  const runs: string[] = []
  let refused: Response
  for (;;) {
    refused = await service.post("/execute", { workflow_source: hello, input: ada })
    await refused.arrayBuffer()
    if (refused.status === 429) break
    // The last one may have room for its beginning only.
    assert.ok(refused.status === 200 || refused.status === 422)
    runs.push(refused.headers.get("x-service-run-id") ?? "")
    assert.ok(runs.length < 100)
  }
  assert.ok(runs.length > 1)
  for (const run_id of runs) assert.equal((await remove(service, run_id)).status, 204)
  await run(service)
})

const keys = { API_KEYS: "ann:key-of-ann,bob:key-of-bob", OPERATOR_KEYS: "ops:key-of-ops" }
const of = (name: string): Record<string, string> => ({ authorization: `Bearer key-of-${name}` })

test("a caller deletes its own runs only", async () => {
  const service = await startService(keys)
  const run_id = await run(service, of("ann"))
  assert.equal((await remove(service, run_id, of("bob"))).status, 404)
  assert.equal((await remove(service, run_id)).status, 401)
  assert.equal((await remove(service, run_id, of("ann"))).status, 204)
  assert.equal((await service.get(`/execute/${run_id}`, of("bob"))).status, 404)
  assert.equal((await service.get(`/execute/${run_id}`, of("ann"))).status, 410)
})

describe("operators", async () => {
  const service = await startService({ ...keys, GROUPS: "editors:bob" })

  test("see, cancel and delete the runs of all callers", async () => {
    const held = await heldAgent()
    const ofAnn = await run(service, of("ann"))
    const body = { workflow_source: held.source, input: ada }
    const started = await service.post("/execute", body, { ...of("bob"), prefer: "respond-async" })
    const { run_id: ofBob } = (await started.json()) as { run_id: string }
    const { runs } = (await (await service.get("/runs", of("ops"))).json()) as RunsAnswer
    assert.deepEqual(
      runs.map(({ run_id, caller }) => [run_id, caller]),
      [
        [ofBob, "bob"],
        [ofAnn, "ann"],
      ],
    )
    const own = (await (await service.get("/runs", of("ann"))).json()) as RunsAnswer
    assert.equal("caller" in (own.runs[0] ?? {}), false)
    const record = (await (await service.get(`/execute/${ofAnn}`, of("ops"))).json()) as Record<string, unknown>
    assert.deepEqual([record["caller"], record["status"]], ["ann", "completed"])
    assert.match(await (await service.get(`/execute/${ofAnn}/events`, of("ops"))).text(), /workflow_completed/)
    assert.equal((await service.post(`/execute/${ofBob}/cancel`, {}, of("ops"))).status, 202)
    await service.get(`/execute/${ofBob}?wait=60`, of("ops"))
    for (const run_id of [ofAnn, ofBob]) assert.equal((await remove(service, run_id, of("ops"))).status, 204)
    assert.deepEqual(await listed(service, "", of("ops")), [])
    assert.equal((await service.get(`/execute/${ofAnn}`, of("ops"))).status, 410)
    assert.equal((await service.get(`/execute/${ofAnn}`, of("ann"))).status, 410)
    held.release()
  })

  test("start and answer none, and are told so", async () => {
    const started = await service.post("/execute", { workflow_source: asks }, of("ann"))
    const { run_id, questions } = (await started.json()) as { run_id: string; questions: { id: string }[] }
    assert.equal((await service.get(`/execute/${run_id}/questions`, of("ops"))).status, 200)
    const refused: [string, unknown][] = [
      ["/execute", { workflow_source: hello, input: ada }],
      ["/execute", "not even JSON"],
      [`/execute/${run_id}/rerun`, {}],
      [`/execute/${run_id}/questions/${questions[0]?.id}`, { answer: { publish: true } }],
      ["/workflows/any/execute", {}],
      ["/cache/invalidate", { cache_key: "x" }],
      ["/demo/v1/responses", {}],
    ]
    for (const [path, body] of refused) {
      const error = await errorOf(await service.post(path, body, of("ops")))
      assert.deepEqual([error.status, error.kind], [403, "forbidden"], path)
      assert.match(error.message, /operator's .*starts and answers none/, path)
    }
    assert.equal((await service.get("/questions", of("ops"))).status, 403)
    for (const path of ["/workflows", "/openapi.json", "/metrics", "/healthz"]) {
      assert.equal((await service.get(path, of("ops"))).status, 200, path)
    }
    assert.equal((await service.post("/validate", { workflow_source: hello }, of("ops"))).status, 200)
    assert.equal((await service.get("/nowhere", of("ops"))).status, 404)
  })

  test("are known where callers need no keys", async () => {
    const open = await startService({ OPERATOR_KEYS: "ops:key-of-ops", METRICS_KEY: "metrics" })
    const run_id = await run(open)
    const [first] = ((await (await open.get("/runs", of("ops"))).json()) as RunsAnswer).runs
    assert.deepEqual([first?.run_id, first?.caller], [run_id, ""])
    assert.equal((await open.post("/execute", { workflow_source: hello, input: ada }, of("ops"))).status, 403)
    assert.equal((await open.get("/metrics")).status, 401)
    assert.equal((await open.get("/metrics", of("ops"))).status, 200)
  })
})
