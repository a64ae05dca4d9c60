import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import type { RunsActionStarted, RunsActionState } from "../../../src/api/run-actions.ts"
import type { RunStatsAnswer } from "../../../src/api/run-stats.ts"
import type { RunsAnswer } from "../../../src/api/runs.ts"
import { fakeBackend, json } from "../../support/fake-backend.ts"
import { within } from "../../support/within.ts"
import { ada, errorOf, hello, oneAgent, startService } from "./start-service.ts"

const folder = mkdtempSync(join(tmpdir(), "wireworks-actions-"))
after(() => rmSync(folder, { recursive: true, force: true }))

for (const store of ["memory", "sqlite"]) {
  describe(`counts of runs, and actions on many, in ${store}`, async () => {
    const data = mkdtempSync(join(tmpdir(), "wireworks-actions-data-"))
    after(() => rmSync(data, { recursive: true, force: true }))
    const auditFile = join(data, "audit.jsonl")
    const keys = ["ann", "bob"].map((name) => `${name}:key-of-${name}-0123456789`).join(",")
    const service = await startService({
      STORE: store,
      DATA_DIR: data,
      WORKFLOWS: folder,
      API_KEYS: keys,
      OPERATOR_KEYS: "op:key-of-op-0123456789",
      AUDIT_FILE: auditFile,
    })
    const as = (name: string): Record<string, string> => ({ authorization: `Bearer key-of-${name}-0123456789` })
    const run = async (name: string, source: string): Promise<string> => {
      const response = await service.post("/execute", { workflow_source: source, input: ada }, as(name))
      await response.text()
      return response.headers.get("x-service-run-id") ?? ""
    }
    const stats = async (name: string, query = ""): Promise<RunStatsAnswer> => {
      const response = await service.get(`/runs/stats${query}`, as(name))
      assert.equal(response.status, 200, await response.clone().text())
      return (await response.json()) as RunStatsAnswer
    }
    const sum = ({ buckets }: RunStatsAnswer, field: "runs" | "failed" | "waiting"): number =>
      buckets.reduce((total, bucket) => total + bucket[field], 0)
    const begin = async (name: string, body: object): Promise<RunsActionStarted> => {
      const response = await service.post("/runs/actions", body, as(name))
      assert.equal(response.status, 202, await response.clone().text())
      return (await response.json()) as RunsActionStarted
    }
    const finished = async (name: string, id: string): Promise<RunsActionState> =>
      within(
        60_000,
        "the action",
        (async () => {
          for (;;) {
            const response = await service.get(`/runs/actions/${id}`, as(name))
            assert.equal(response.status, 200)
            const state = (await response.json()) as RunsActionState
            if (state.status === "completed") return state
            await new Promise((resolve) => setTimeout(resolve, 20))
          }
        })(),
      )
    const list = async (name: string, query: string): Promise<RunsAnswer["runs"]> =>
      ((await (await service.get(`/runs?${query}`, as(name))).json()) as RunsAnswer).runs

    const ids: string[] = []
    let fails = true
    it("counts the runs of a caller by the hour, and for operators those of all", async (t) => {
      const { backend } = await fakeBackend(t, () =>
        fails
          ? json({ error: { message: "no" } }, 400)
          : json({
              object: "response",
              status: "completed",
              output: [
                { type: "message", role: "assistant", content: [{ type: "output_text", text: '{"message":"x"}' }] },
              ],
              usage: { input_tokens: 1, output_tokens: 1, input_tokens_details: {}, output_tokens_details: {} },
            }),
      )
      const failing = oneAgent(backend.endpoint)
      ids.push(await run("ann", hello), await run("ann", failing), await run("ann", failing))
      await run("bob", hello)
      const mine = await stats("ann")
      assert.deepEqual([sum(mine, "runs"), sum(mine, "failed"), sum(mine, "waiting")], [3, 2, 0])
      assert.equal(sum(await stats("op"), "runs"), 4)
      assert.equal(sum(await stats("op", "?caller=bob"), "runs"), 1)
      assert.equal(sum(await stats("ann", "?status=failed&by=day"), "runs"), 2)
      assert.equal(sum(await stats("ann", "?started_by=rerun"), "runs"), 0)
      assert.equal(sum(await stats("ann", "?since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z"), "runs"), 0)
      const [bucket] = mine.buckets
      assert.ok(bucket !== undefined && bucket.p50_ms !== null && bucket.p95_ms !== null)
      assert.ok(bucket.p50_ms <= bucket.p95_ms)
      assert.match(bucket.at, /T\d\d:00:00.000Z$/)

      // Retried while the backend works again: each once, as re-runs.
      fails = false
      const tried = await begin("ann", { action: "retry_failed", run_ids: ids })
      assert.equal(tried.matched, 3)
      assert.deepEqual(await finished("ann", tried.id), {
        status: "completed",
        matched: 3,
        done: 0,
        failed: [{ run_id: ids[0], message: "The run has completed" }],
      })
      assert.deepEqual(await list("ann", "started_by=rerun"), [])
      const { id } = await begin("ann", { action: "retry_failed", filter: { status: "failed" }, dry_run: false })
      assert.deepEqual(await finished("ann", id), { status: "completed", matched: 2, done: 2, failed: [] })
      const again = await within(
        30_000,
        "re-runs",
        (async () => {
          for (;;) {
            const runs = await list("ann", "started_by=rerun&status=ended")
            if (runs.length === 2) return runs
          }
        })(),
      )
      assert.deepEqual(
        again.map(({ status }) => status),
        ["completed", "completed"],
      )
    })

    it("refuses what is wrong by name, and hides actions of others", async () => {
      for (const [query, path] of [
        ["by=week", "by"],
        ["since=2020-01-01T00:00:00Z&until=2021-01-01T00:00:00Z", "since"],
        ["since=2021-01-01T00:00:00Z&until=2020-01-01T00:00:00Z", "since"],
        ["min_cost=-1", "min_cost"],
        ["caller=bob", "caller"],
        ["q=x", "q"],
      ] as const) {
        const refused = await errorOf(await service.get(`/runs/stats?${query}`, as("ann")))
        assert.deepEqual([refused.status, refused.issues[0]?.path], [400, path], query)
      }
      for (const [body, path] of [
        [{ action: "cancel", filter: {} }, "filter"],
        [{ action: "cancel", filter: { q: " " } }, "filter.q"],
        [{ action: "cancel", filter: { since: "now" } }, "filter.since"],
        [{ action: "cancel", filter: { caller: "bob" } }, "filter.caller"],
        [{ action: "cancel", filter: { stat: "failed" } }, "filter.stat"],
        [{ action: "cancel", run_ids: [] }, "run_ids"],
        [{ action: "stop", run_ids: ["x"] }, "action"],
        [{ action: "cancel" }, undefined],
        [{ action: "cancel", run_ids: ["x"], filter: { status: "failed" } }, undefined],
      ] as const) {
        const refused = await errorOf(await service.post("/runs/actions", body, as("ann")))
        assert.deepEqual([refused.status, refused.issues[0]?.path], [400, path], JSON.stringify(body))
      }
      const operator = await service.post("/runs/actions", { action: "retry_failed", run_ids: ids }, as("op"))
      assert.equal(operator.status, 403)
      assert.equal((await service.get("/runs/actions/nothing", as("ann"))).status, 404)
      const { id } = await begin("ann", { action: "delete", run_ids: [...ids, "nothing"] })
      assert.equal((await service.get(`/runs/actions/${id}`, as("bob"))).status, 404)
      assert.equal((await service.get(`/runs/actions/${id}`, as("op"))).status, 200)
      assert.equal((await finished("ann", id)).matched, 3)
      assert.equal((await begin("bob", { action: "delete", run_ids: ids, dry_run: false })).matched, 0)
      assert.equal((await list("ann", "status=ended")).length, 5)
    })

    it("deletes what an operator's filter finds, with lines in the audit trail, and counts stay", async () => {
      const before = sum(await stats("op"), "runs")
      const { id, matched } = await begin("op", { action: "delete", filter: { caller: "ann" }, dry_run: false })
      assert.equal(matched, 5)
      assert.deepEqual(await finished("op", id), { status: "completed", matched: 5, done: 5, failed: [] })
      assert.deepEqual(await list("ann", ""), [])
      assert.equal(sum(await stats("op"), "runs"), before)
      const { readFileSync } = await import("node:fs")
      const lines = readFileSync(auditFile, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Record<string, unknown>)
      const own = lines.filter((line) => line["id"] === id)
      assert.deepEqual(
        own.map(({ act }) => act),
        ["runs.action", ...Array.from({ length: 5 }, () => "deleted")],
      )
      assert.deepEqual([own[0]?.["action"], own[0]?.["caller"]], ["delete", "op"])
    })
  })
}
writeFileSync(join(folder, "hello.wire"), hello)
