import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, describe, test } from "node:test"
import { aRequest, aRun, ended, happened, ids, leaseMs, owner, row } from "../../../test/contract/run-store/material.ts"
import { ManualClock } from "../../../test/support/manual-clock.ts"
import { LeaseLost, StoreFailure, type Lease, type RunRequest, type UnkeyedRun } from "../../ports/store.ts"
import { createMasterKey } from "../vault/vault.ts"
import { openSqliteStore } from "./open-sqlite-store.ts"

const scratch = mkdtempSync(join(tmpdir(), "wireworks-begin-"))
after(() => rmSync(scratch, { recursive: true }))

const path = join(scratch, "wire.db")
const open = () => openSqliteStore({ path, masterKey: createMasterKey(randomBytes(32)), clock: new ManualClock() })

function aNewRun(changes: Partial<RunRequest> = {}): { readonly run: UnkeyedRun; readonly lease: Lease } {
  const run = { ...aRun({ request: aRequest({ secrets: { token: "t" }, ...changes }) }), idempotency: null }
  return { run, lease: { run_id: run.run_id, owner, fence: 1 } }
}

/** Requests that were not sealed with first events. */
function requestsApart(): number {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    return database.prepare("SELECT count(*) AS n FROM requests").get()?.["n"] as number
  } finally {
    database.close()
  }
}

describe("a run that begins before it is stored", async () => {
  const store = await open()
  after(() => store.close())
  const start = store.begin?.bind(store)
  assert.ok(start !== undefined)

  test("is stored with its first events in one transaction", async () => {
    const { run, lease } = aNewRun()
    const database = new DatabaseSync(path, { readOnly: true })
    const versions = new Set<unknown>()
    const look = () => {
      const version = database.prepare("PRAGMA data_version").get()?.["data_version"]
      const runs = database.prepare("SELECT count(*) AS n FROM runs").get()?.["n"]
      const events = database.prepare("SELECT count(*) AS n FROM events").get()?.["n"]
      versions.add([version, runs, events].join(" "))
    }
    look()
    const stored = start(run, lease, leaseMs).then(look)
    // As logs do it: what one turn of the event loop adds is appended after that turn.
    const appended = new Promise((resolve) => setImmediate(resolve)).then(() => store.append(lease, [happened(1)]))
    assert.deepEqual(await store.lookup(run.run_id), { found: "nothing" })
    await Promise.all([stored, appended.then(look)])
    database.close()
    assert.equal(versions.size, 2)
    assert.deepEqual(await ids(store, run.run_id), [1])
    assert.deepEqual(await store.request(run.run_id), run.request)
    assert.equal(requestsApart(), 0)
    await store.append(lease, [happened(2)])
    assert.deepEqual(await ids(store, run.run_id), [1, 2])
  })

  test("is stored without events where they come later, or before them where it is long", async () => {
    const before = requestsApart()
    const [late, long] = [aNewRun(), aNewRun({ source: "s".repeat(10_000) })]
    await start(late.run, late.lease, leaseMs)
    await store.append(late.lease, [happened(1)])
    const stored = start(long.run, long.lease, leaseMs)
    await store.append(long.lease, [happened(1, "one", { kept: "k" }), happened(2)])
    await store.append(long.lease, [happened(3)])
    await stored
    assert.equal(requestsApart(), before + 2)
    for (const [{ run }, expected] of [
      [late, [1]],
      [long, [1, 2, 3]],
    ] as const) {
      assert.deepEqual(await store.request(run.run_id), run.request)
      assert.deepEqual(await ids(store, run.run_id), expected)
    }
    assert.deepEqual((await store.read(long.run.run_id, 0, 1, "kept"))[0]?.kept, { kept: "k" })
  })

  test("has several appends before it is stored, what continuations need among them", async () => {
    const { run, lease } = aNewRun()
    const events = [happened(1, "one", { kept: 1 }), happened(2, "two", { kept: "k".repeat(5_000) }), happened(3)]
    await Promise.all([start(run, lease, leaseMs), ...events.map((event) => store.append(lease, [event]))])
    assert.deepEqual(await store.read(run.run_id, 0, 10, "kept"), events)
    assert.deepEqual(await store.request(run.run_id), run.request)
    await store.append(lease, [ended(4)])
    assert.deepEqual(await store.request(run.run_id), { ...run.request, secrets: {} })
  })

  test("may end before it is stored", async () => {
    const { run, lease } = aNewRun()
    const stored = start(run, lease, leaseMs)
    await store.append(lease, [happened(1), ended(2)])
    await stored
    assert.notEqual((await row(store, run.run_id)).finished_at, null)
    assert.deepEqual((await store.request(run.run_id)).secrets, {})
    await assert.rejects(store.append(lease, [happened(3)]), LeaseLost)
  })

  test("cannot be appended to where it cannot be created, and others go on", async () => {
    const [{ run, lease }, other] = [aNewRun(), aNewRun()]
    await start(run, lease, leaseMs)
    await store.append(lease, [ended(1)])
    // Its id is taken.
    const failed = assert.rejects(start(run, lease, leaseMs), StoreFailure)
    const appended = assert.rejects(store.append(lease, [happened(1)]), LeaseLost)
    const stored = start(other.run, other.lease, leaseMs)
    await store.append(other.lease, [happened(1)])
    await Promise.all([failed, appended, stored])
    assert.deepEqual(await ids(store, run.run_id), [1])
    assert.deepEqual(await ids(store, other.run.run_id), [1])
  })

  test("can be asked to stop as soon as it begins", async () => {
    const { run, lease } = aNewRun()
    const stored = start(run, lease, leaseMs)
    const cancelled = new Promise<void>((resolve) => store.onCancel(run.run_id, resolve))
    assert.equal(await store.requestCancel(run.run_id), true)
    await Promise.all([stored, cancelled])
  })
})
