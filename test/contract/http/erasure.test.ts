import assert from "node:assert/strict"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, describe, it } from "node:test"
import type { ErasedRunsAnswer, ErasureStarted, ErasureState } from "../../../src/api/erasure.ts"
import { MemoryStore } from "../../../src/adapters/memory/memory-store.ts"
import type { StoredAction, ErasurePlan } from "../../../src/ports/run-actions.ts"
import { noProgress } from "../../../src/ports/run-actions.ts"
import { goOnErasing } from "../../../src/server/erase-runs.ts"
import { ManualClock } from "../../support/manual-clock.ts"
import { within } from "../../support/within.ts"
import { aRequest, created, ended } from "../run-store/material.ts"
import { errorOf, startService } from "./start-service.ts"

const source = `input {
    customer: string
    text: string = "none"
}

output {
    echo: "{{ input.customer }}: {{ input.text }}"
}
`
const waiting = `input {
    customer: string
}

wait paid {
    event: "paid"
    key: input.customer
    expires_seconds: 3600
    on_expiry: { ok: false }

    output {
        ok: boolean
    }
}

output {
    customer: input.customer
    ok: wait.paid.ok
}
`
const canary = "canary-3f1c9e"

for (const store of ["memory", "sqlite"]) {
  describe(`erasing runs in ${store}`, async () => {
    const data = mkdtempSync(join(tmpdir(), "wireworks-erase-"))
    after(() => rmSync(data, { recursive: true, force: true }))
    const auditFile = join(data, "audit.jsonl")
    const service = await startService({
      STORE: store,
      DATA_DIR: data,
      API_KEYS: ["ann", "bob"].map((name) => `${name}:key-of-${name}-0123456789`).join(","),
      OPERATOR_KEYS: "op:key-of-op-0123456789",
      AUDIT_FILE: auditFile,
      ERASE_PATHS: "input.customer",
    })
    const as = (name: string): Record<string, string> => ({ authorization: `Bearer key-of-${name}-0123456789` })
    const run = async (name: string, input: object, workflow_source = source, more: object = {}): Promise<string> => {
      const response = await service.post("/execute", { workflow_source, input, ...more }, as(name))
      assert.ok(response.ok, await response.clone().text())
      await response.text()
      return response.headers.get("x-service-run-id") ?? ""
    }
    const start = async (body: object): Promise<string> => {
      const response = await service.post("/erase", body, as("op"))
      assert.equal(response.status, 202, await response.clone().text())
      return ((await response.json()) as ErasureStarted).id
    }
    const state = async (id: string): Promise<ErasureState> => {
      const response = await service.get(`/erase/${id}`, as("op"))
      assert.equal(response.status, 200)
      return (await response.json()) as ErasureState
    }
    const completed = (id: string): Promise<ErasureState> =>
      within(
        60_000,
        "the erasure",
        (async () => {
          for (;;) {
            const now = await state(id)
            if (now.status === "completed") return now
            await new Promise((resolve) => setTimeout(resolve, 20))
          }
        })(),
      )
    const statusOf = async (run_id: string): Promise<number> =>
      (await service.get(`/execute/${run_id}`, as("op"))).status

    it("erases the runs of a customer, of all callers, and no others", async () => {
      const gone: string[] = []
      for (let n = 0; n < 40; n++) gone.push(await run(n % 2 === 0 ? "ann" : "bob", { customer: "42", text: canary }))
      const rest = [await run("ann", { customer: "43" }), await run("ann", { customer: "42 " })]
      const sealed = store === "sqlite" ? sealedOf(data, gone) : []
      if (store === "sqlite") {
        await within(
          60_000,
          "the rows in the files",
          untilTrue(() => sealed.every((one) => isInFiles(data, one))),
        )
      }

      const dry = await completed(await start({ where: { "input.customer": "42" } }))
      assert.deepEqual([dry.matched, dry.erased, dry.open], [40, 0, []])
      assert.equal(await statusOf(gone[0] ?? ""), 200)

      const done = await completed(await start({ where: { "input.customer": "42" }, dry_run: false }))
      assert.deepEqual([done.matched, done.erased, done.open, done.unreadable], [40, 40, [], []])
      assert.ok(done.not_erased.includes("audit trail"))
      for (const run_id of gone) assert.equal(await statusOf(run_id), 410)
      for (const run_id of rest) assert.equal(await statusOf(run_id), 200)
      const listed = (await (await service.get("/erase?limit=500", as("op"))).json()) as ErasedRunsAnswer
      assert.deepEqual(
        gone.filter((run_id) => !listed.erased.some((one) => one.run_id === run_id)),
        [],
      )
      if (store === "sqlite") {
        // Keys and contents, as they were sealed, are in no file any more: what is left opens nothing.
        await within(
          60_000,
          "the end of the residue",
          untilTrue(() => !sealed.some((one) => isInFiles(data, one))),
        )
      }
      const trail = readFileSync(auditFile, "utf8")
      assert.match(trail, /"act":"erase"/)
      assert.match(trail, /"paths":\["input\.customer"\]/)
      assert.ok(!trail.includes(canary) && !trail.includes('"42"'))
      const again = await completed(await start({ where: { "input.customer": "42" }, dry_run: false }))
      assert.deepEqual([again.matched, again.erased], [0, 0])
    })

    it("reads the runs where a path is not indexed, and compares as JSON", async () => {
      const one = await run("ann", { customer: "9", text: "letter" })
      const other = await run("ann", { customer: "9", text: "letters" })
      const where = { "input.text": "letter", "input.customer": "9" }
      const { matched, erased } = await completed(await start({ where, dry_run: false }))
      assert.deepEqual([matched, erased], [1, 1])
      assert.deepEqual([await statusOf(one), await statusOf(other)], [410, 200])
      const number = await completed(await start({ where: { "input.customer": 9 }, dry_run: false }))
      assert.equal(number.matched, 0)
    })

    it("takes re-runs along, and lists open runs, which it erases when they have ended", async () => {
      const first = await run("ann", { customer: "rerun" })
      const response = await service.post(
        `/execute/${first}/rerun`,
        { from: [], input: { customer: "somebody else" } },
        as("ann"),
      )
      assert.ok(response.ok, await response.clone().text())
      await response.text()
      const rerun = response.headers.get("x-service-run-id") ?? ""
      const begun = await service.post(
        "/execute",
        { workflow_source: waiting, input: { customer: "rerun" } },
        { ...as("ann"), accept: "application/json", prefer: "respond-async" },
      )
      assert.equal(begun.status, 202, await begun.clone().text())
      const { run_id: open } = (await begun.json()) as { readonly run_id: string }

      const dry = await completed(await start({ where: { "input.customer": "rerun" } }))
      assert.deepEqual([dry.matched, dry.open], [3, [open]])
      const only = await completed(await start({ where: { "input.customer": "rerun" }, dry_run: false }))
      assert.deepEqual([only.matched, only.erased, only.open], [3, 2, [open]])
      assert.deepEqual([await statusOf(first), await statusOf(rerun), await statusOf(open)], [410, 410, 200])

      const id = await start({ where: { "input.customer": "rerun" }, dry_run: false, also_open: true })
      await within(
        60_000,
        "the open run in the list",
        untilTrue(async () => (await state(id)).open.includes(open)),
      )
      assert.equal((await state(id)).status, "running")
      assert.equal((await service.post(`/execute/${open}/cancel`, {}, as("ann"))).status, 202)
      const done = await completed(id)
      assert.deepEqual([done.matched, done.erased, done.open], [1, 1, []])
      assert.equal(await statusOf(open), 410)
    })

    it("is for operators, and refuses paths that lead nowhere or into arrays", async () => {
      const refused = await errorOf(await service.post("/erase", { where: { "input.customer": "1" } }, as("ann")))
      assert.equal(refused.kind, "forbidden")
      const wrong: unknown[] = [
        {},
        { input: {} },
        { customer: "1" },
        { "input.": 1 },
        { "input.a[0]": 1 },
        { "input.a.0": 1 },
      ]
      for (const where of wrong) {
        const response = await service.post("/erase", { where }, as("op"))
        assert.equal(response.status, 400, JSON.stringify(where))
      }
      assert.equal((await service.get("/erase/nobody", as("op"))).status, 404)
      assert.equal((await service.get("/erase", as("ann"))).status, 403)
    })
  })
}

describe("an erasure that is interrupted", () => {
  it("counts each run once, wherever it was stopped", async () => {
    const clock = new ManualClock()
    const store = new MemoryStore(clock)
    for (let n = 0; n < 5; n++) {
      const lease = await created(store, { request: aRequest({ input: { customer: "42" } }) })
      await store.append(lease, [ended(1)])
    }
    const digest = await store.erasure.digest("input.customer", "42")
    const where = [{ path: "input.customer", digest }]
    const until = await store.erasure.newest()
    const plan: ErasurePlan = { act: "erase", dry_run: false, also_open: false, where, workflow: null, until }
    let erased = 0
    const ports = { store, files: null, audit: () => undefined, countErased: () => erased++ }
    let action: StoredAction<ErasurePlan> = {
      id: "a",
      caller: "op",
      by_operator: true,
      plan,
      progress: noProgress,
      completed: false,
      revision: 1,
    }
    for (let step = 0; ; step++) {
      // Each part is done twice: the first process died before it could store how far it was.
      await goOnErasing(ports, action, () => false)
      const { progress, isOver } = await goOnErasing(ports, action, () => false)
      action = { ...action, progress }
      if (isOver) break
      assert.ok(step < 10)
    }
    assert.deepEqual([action.progress.done, erased], [5, 5])
  })
})

/** The wrapped keys of runs, and what their logs begin with: bytes that nothing else has. */
function sealedOf(data: string, run_ids: readonly string[]): Buffer[] {
  const database = new DatabaseSync(join(data, "wireworks.db"), { readOnly: true })
  const found = run_ids.flatMap((run_id) => {
    const rows = database
      .prepare(
        "SELECT runs.key AS key, events.body AS body FROM runs JOIN events ON events.run = runs.num WHERE run_id = ?",
      )
      .all(run_id)
    return rows.flatMap(({ key, body }) => [key, (body as Uint8Array).subarray(0, 64)])
  })
  database.close()
  return found.map((bytes) => Buffer.from(bytes as Uint8Array))
}

function isInFiles(data: string, bytes: Buffer): boolean {
  const files = readdirSync(data).filter((name) => name.startsWith("wireworks.db"))
  return files.some((name) => readFileSync(join(data, name)).includes(bytes))
}

async function untilTrue(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 100))
}
