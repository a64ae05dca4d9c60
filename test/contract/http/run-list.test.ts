import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import type { RunsAnswer } from "../../../src/api/runs.ts"
import { within } from "../../support/within.ts"
import { ada, errorOf, heldAgent, hello, startService, type TestService } from "./start-service.ts"

const folder = mkdtempSync(join(tmpdir(), "wireworks-runs-"))
after(() => rmSync(folder, { recursive: true, force: true }))
writeFileSync(join(folder, "hello.wire"), hello)
writeFileSync(
  join(folder, "asking.wire"),
  'ask review { question: "Yes?" output { yes: boolean } }\noutput { yes: ask.review.yes }\n',
)

type Headers = Record<string, string>

async function listOf(service: TestService, query = "", headers: Headers = {}): Promise<RunsAnswer> {
  const response = await service.get(`/runs${query}`, headers)
  assert.equal(response.status, 200, await response.clone().text())
  return (await response.json()) as RunsAnswer
}

async function until(service: TestService, query: string, fits: (answer: RunsAnswer) => boolean): Promise<RunsAnswer> {
  let late = false
  const look = async (): Promise<RunsAnswer> => {
    for (;;) {
      const answer = await listOf(service, query)
      if (fits(answer) || late) return answer
    }
  }
  return within(30_000, "the list", look()).finally(() => (late = true))
}

for (const store of ["memory", "sqlite"]) {
  describe(`the list of runs in ${store}`, async () => {
    const data = mkdtempSync(join(tmpdir(), "wireworks-runs-data-"))
    after(() => rmSync(data, { recursive: true, force: true }))
    const service = await startService({ STORE: store, DATA_DIR: data, WORKFLOWS: folder })
    const run = async (path: string, body: unknown): Promise<string> => {
      const response = await service.post(path, body)
      assert.equal(response.status, 200)
      return response.headers.get("x-service-run-id") ?? ""
    }

    it("is empty at first", async () => {
      assert.deepEqual(await listOf(service), { runs: [], next: null, searched_back_to: null })
    })

    it("shows the newest first, with workflow, version, status, times and usage, as the record has them", async () => {
      const named = await run("/workflows/hello/execute", { input: ada })
      const sent = await run("/execute", { workflow_source: hello, input: ada })
      const { runs, next } = await listOf(service)
      assert.deepEqual(
        runs.map(({ run_id }) => run_id),
        [sent, named],
      )
      assert.equal(next, null)
      for (const listed of runs) {
        const record = (await (await service.get(`/execute/${listed.run_id}`)).json()) as Record<string, unknown>
        const { run_id, workflow, version, status, created_at, finished_at, usage } = record
        const { output_preview, ...rest } = listed
        assert.deepEqual(rest, {
          run_id,
          workflow,
          version,
          status,
          created_at,
          finished_at,
          usage,
          started_by: "request",
          trace_id: null,
          scores: [],
          duration_ms: Date.parse(String(finished_at)) - Date.parse(String(created_at)),
          tokens: listed.usage.input_tokens + listed.usage.output_tokens,
          cost: listed.usage.cost,
          error: null,
          input_preview: "name: Ada",
        })
        assert.match(output_preview ?? "", /^message: Hello, Ada/)
      }
      assert.deepEqual([runs[0]?.workflow, runs[1]?.workflow], [null, "hello"])
    })

    it("shows with `include=preview` what each run was given and gave, and when it is deleted", async () => {
      const { runs } = await listOf(service, "?include=preview&limit=1")
      const { preview, finished_at } = runs[0] ?? {}
      const week = 7 * 24 * 3_600_000
      assert.deepEqual(preview, {
        steps: ["reply"],
        input: "name: Ada",
        result: preview?.result,
        started_by: "request",
        expires_at: new Date(Date.parse(finished_at ?? "") + week).toISOString(),
      })
      assert.match(preview?.result ?? "", /^message: Hello, Ada/)
      assert.equal((await service.get("/runs?include=all")).status, 400)
    })

    it("is searched: every word, wherever it stands, and every filter must hold", async () => {
      const name = (text: string): object => ({ input: { name: text } })
      const first = await run("/workflows/hello/execute", name("Zoë Quill"))
      const second = await run("/workflows/hello/execute", name("Quill Nobody"))
      const found = async (query: string): Promise<string[]> =>
        (await listOf(service, `?${query}`)).runs.map(({ run_id }) => run_id)
      assert.deepEqual(await found("q=quill"), [second, first])
      assert.deepEqual(await found(`q=${encodeURIComponent("ZOË  quill")}`), [first])
      assert.deepEqual(await found(`q=quill&workflow=hello&workflow=other&started_by=request`), [second, first])
      assert.deepEqual(await found("q=quill&limit=1"), [second])
      assert.deepEqual(await found("q=quill&started_by=schedule"), [])
      assert.deepEqual(await found("q=quill&min_cost=1000"), [])
      assert.deepEqual(await found("q=quill&min_seconds=0"), [second, first])
      assert.deepEqual(await found("q=quill&min_seconds=3600"), [])
      assert.deepEqual(await found("q=quill&version=0123456789ab"), [])
      assert.deepEqual(await found(`q=${first}`), [first])
      const { created_at } = (await listOf(service, `?q=${first}`)).runs[0] ?? { created_at: "" }
      assert.deepEqual(await found(`q=zo%C3%AB&until=${created_at}`), [])
      assert.deepEqual(await found(`q=zo%C3%AB&since=${created_at}`), [first])
      const all = await listOf(service, "?q=quill")
      assert.deepEqual([all.next, all.searched_back_to], [null, null])
      for (const wrong of [
        "q=",
        "q=%20",
        `q=${"x".repeat(201)}`,
        "min_cost=-1",
        "min_cost=x",
        "until=now",
        "started_by=me",
      ]) {
        const refused = await errorOf(await service.get(`/runs?${wrong}`))
        assert.equal(refused.kind, "invalid_request", wrong)
        assert.equal(refused.issues[0]?.path, wrong.split("=")[0], wrong)
      }
      const caller = await errorOf(await service.get("/runs?caller=me"))
      assert.deepEqual([caller.kind, caller.issues[0]?.path], ["invalid_request", "caller"])
    })

    it("leads to the request of each run, without secrets", async () => {
      const source = `secrets { token: string }\n${hello}`
      const options = { timeout_ms: 60_000 }
      const secrets = { token: "s3cret-0123456789" }
      const sent = await run("/execute", { workflow_source: source, input: ada, secrets, options })
      const response = await service.get(`/execute/${sent}/request`)
      const text = await response.text()
      assert.ok(!text.includes(secrets.token))
      assert.deepEqual(JSON.parse(text), {
        run_id: sent,
        source,
        input: ada,
        options: { timeout_ms: 60_000, deltas: false },
        workflow: null,
        version: null,
        rerun_of: null,
      })
      const named = await run("/workflows/hello/execute", { input: ada })
      const request = (await (await service.get(`/execute/${named}/request`)).json()) as Record<string, unknown>
      assert.deepEqual([request["workflow"], request["source"]], ["hello", hello])
      assert.equal((await errorOf(await service.get("/execute/nothing/request"))).kind, "not_found")
    })

    it("has pages", async () => {
      for (let n = 0; n < 5; n++) await run("/workflows/hello/execute", { input: ada })
      const whole = await listOf(service)
      const seen: string[] = []
      let query = "?limit=3"
      for (;;) {
        const { runs, next }: RunsAnswer = await listOf(service, query)
        seen.push(...runs.map(({ run_id }) => run_id))
        if (next === null) break
        assert.equal(runs.length, 3)
        query = `?limit=3&after=${encodeURIComponent(next)}`
      }
      assert.deepEqual(
        seen,
        whole.runs.map(({ run_id }) => run_id),
      )
    })

    it("is filtered", async () => {
      const { source } = await heldAgent()
      const started = await service.post(
        "/execute",
        { workflow_source: source, input: ada },
        { prefer: "respond-async" },
      )
      const { run_id } = (await started.json()) as { run_id: string }
      const { runs } = await until(service, "?status=open", (answer) => answer.runs.length === 1)
      assert.equal(runs[0]?.run_id, run_id)
      assert.equal(
        (await listOf(service, "?workflow=hello")).runs.every(({ workflow }) => workflow === "hello"),
        true,
      )
      assert.deepEqual((await listOf(service, "?workflow=nothing")).runs, [])
      assert.deepEqual((await listOf(service, "?status=waiting")).runs, [])
      await service.post(`/execute/${run_id}/cancel`, "")
      const ended = await until(service, "?status=ended", ({ runs: found }) => found[0]?.run_id === run_id)
      assert.equal(ended.runs[0]?.status, "cancelled")
      assert.deepEqual((await listOf(service, "?status=open")).runs, [])
    })

    it("knows the runs that wait for people", async () => {
      const started = await service.post("/workflows/asking/execute", { input: {} })
      assert.equal(started.status, 202)
      const { run_id } = (await started.json()) as { run_id: string }
      const { runs } = await until(service, "?status=waiting", (answer) => answer.runs.length === 1)
      assert.deepEqual([runs[0]?.run_id, runs[0]?.status, runs[0]?.finished_at], [run_id, "waiting", null])
      assert.deepEqual((await listOf(service, "?status=open")).runs, [])
      await service.post(`/execute/${run_id}/cancel`, "")
      await until(service, "?status=waiting", (answer) => answer.runs.length === 0)
    })

    it("refuses what it does not know", async () => {
      for (const query of ["?status=done", "?limit=0", "?limit=501", "?limit=x", "?after=x", "?page=2", "?workflow="]) {
        const error = await errorOf(await service.get(`/runs${query}`))
        assert.deepEqual([query, error.status, error.kind], [query, 400, "invalid_request"])
      }
      for (const limit of ["0", "501", "x", "", "1e2", " 5", "1&limit=2"]) {
        const { message } = await errorOf(await service.get(`/runs?limit=${limit}`))
        assert.equal(message, "`limit` must be an integer from 1 to 500", limit)
      }
      const post = await service.post("/runs", {})
      assert.deepEqual([post.status, post.headers.get("allow")], [405, "GET, HEAD"])
    })
  })
}

describe("the list of runs and callers", () => {
  it("shows each caller its own", async () => {
    const service = await startService({ API_KEYS: "ann:a-key,bob:b-key" })
    const ann = { authorization: "Bearer a-key" }
    await (await service.post("/execute", { workflow_source: hello, input: ada }, ann)).text()
    assert.equal((await listOf(service, "", ann)).runs.length, 1)
    assert.equal((await listOf(service, "", { authorization: "Bearer b-key" })).runs.length, 0)
    assert.equal((await service.get("/runs")).status, 401)
  })

  it("without keys it is for loopback alone", async () => {
    const service = await startService({ HOST: "0.0.0.0" })
    const error = await errorOf(await fetch(`http://127.0.0.1:${service.port}/runs`))
    assert.deepEqual([error.status, error.kind], [401, "unauthorized"])
    assert.equal((await fetch(`http://127.0.0.1:${service.port}/workflows`)).status, 200)
  })
})
