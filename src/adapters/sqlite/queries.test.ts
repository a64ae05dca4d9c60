import { allRuns } from "../../ports/run-list.ts"
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { aRun, ended, happened, ids, leaseMs, owner } from "../../../test/contract/run-store/material.ts"
import { ManualClock } from "../../../test/support/manual-clock.ts"
import { createMasterKey } from "../vault/vault.ts"
import { openSqliteStore } from "./open-sqlite-store.ts"

const scratch = mkdtempSync(join(tmpdir(), "wireworks-queries-"))
after(() => rmSync(scratch, { recursive: true }))

/** Indexes that hold only the few runs that a look is about. */
const smallIndexes = /^SCAN runs USING (?:COVERING )?INDEX runs_(?:claimable|cancelling|waiting|woken)$/

test("no query of the service's own thread reads every run or every event", async ({ mock }) => {
  const prepare = mock.method(DatabaseSync.prototype, "prepare")
  const asked = (): Set<string> => new Set(prepare.mock.calls.map(({ arguments: [sql] }) => sql))
  const path = join(scratch, "wire.db")
  const store = await openSqliteStore({
    path,
    masterKey: createMasterKey(randomBytes(32)),
    clock: new ManualClock(),
    pollMs: 10,
  })
  try {
    const run = aRun()
    const created = await store.create(run, owner, leaseMs)
    assert.equal(created.outcome, "created")
    if (created.outcome !== "created") return
    store.waits.onOutcome(() => undefined)
    store.onCancel(run.run_id, () => undefined)
    await store.append(created.lease, [happened(1)])
    for (const deadline = Date.now() + 30_000; ; await sleep(10)) {
      if ([...asked()].some((sql) => sql.includes("woken_at IS NOT NULL"))) break
      assert.ok(Date.now() < deadline, "the store never looked for new outcomes")
    }
    await store.append(created.lease, [ended(2)])
    assert.deepEqual(await ids(store, run.run_id), [1, 2])
    await store.lookup(run.run_id)
    await store.request(run.run_id)
    await store.questions.ofRun(run.run_id, 10, null)
    await store.waits.outcomes(run.run_id)
    await store.questions.inbox({
      caller: run.caller,
      to: null,
      status: "open",
      limit: 10,
      after: null,
      groups: [],
      member_of: [],
    })
    const some = { ...allRuns, since: 1, limit: 10, after: { created_at: 1, run_id: "x" } }
    const statuses = ["open", "queued", "running", "waiting", "cancelling", "failed", "cancelled", "ended"] as const
    for (const caller of [run.caller, null]) {
      for (const status of [null, "completed", ...statuses] as const) await store.list({ ...some, caller, status })
      await store.list({ ...some, caller, status: null, error_kind: "timeout" })
    }
    await store.waits.parked(run.caller)
    await store.waits.counts()
  } finally {
    await store.close()
  }
  const queries = asked()
  const database = new DatabaseSync(path, { readOnly: true })
  const slow = [...queries].flatMap((sql) => {
    if (!/^\s*SELECT/.test(sql)) return []
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
    const scans = plan.map(({ detail }) => String(detail)).filter((detail) => /^SCAN (?:runs|events)\b/.test(detail))
    return scans.filter((detail) => !smallIndexes.test(detail)).map((detail) => `${detail}: ${sql}`)
  })
  database.close()
  assert.ok(queries.size > 10, `${queries.size} queries`)
  assert.deepEqual(slow, [])
})
