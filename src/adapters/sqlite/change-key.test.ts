import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, describe, test } from "node:test"
import {
  aRequest,
  created,
  ended,
  happened,
  leaseMs,
  noOptions,
  owner,
} from "../../../test/contract/run-store/material.ts"
import { builtProgram } from "../../../test/support/built-programs.ts"
import { ManualClock } from "../../../test/support/manual-clock.ts"
import { StoreFailure } from "../../ports/store.ts"
import { changeOfMasterKey, createMasterKey } from "../vault/vault.ts"
import { changeSqliteKey } from "./change-key.ts"
import { checkStore } from "./check-store.ts"
import { openSqliteStore } from "./open-sqlite-store.ts"
import { recordOf } from "./open-database.ts"

const childFile = builtProgram("sqlite-child")
const scratch = mkdtempSync(join(tmpdir(), "wireworks-change-key-"))
after(() => rmSync(scratch, { recursive: true }))

const [first, second, third] = [randomBytes(32), randomBytes(32), randomBytes(32)]
const toSecond = changeOfMasterKey(first, second)

function place(name: string) {
  const path = join(scratch, name, "wire.db")
  const clock = new ManualClock()
  const open = (key: Uint8Array) =>
    openSqliteStore({ path, masterKey: createMasterKey(key), clock, residueMs: 20, tombstoneMs: 0 })
  return { path, clock, open }
}

/** In any file of the database's folder. */
const isFound = (path: string, bytes: Buffer): boolean =>
  readdirSync(dirname(path)).some((file) => readFileSync(join(dirname(path), file)).includes(bytes))

function storedRecord(path: string) {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const record = recordOf(database)
    assert.ok(record !== null)
    return { mark: Buffer.from(record.mark), ring: Buffer.from(record.ring) }
  } finally {
    database.close()
  }
}

const refusedWith = (pattern: RegExp) => (error: unknown) =>
  error instanceof StoreFailure && pattern.test(error.message)
const idempotency = { key: "order-1", fingerprint: "f" }

describe("change of the master key", () => {
  test("everything stays as it is, and opens with the new key alone; the record before is in no file", async () => {
    const { path, open } = place("whole")
    const before = await open(first)
    const notify = { url: "https://app.example.com/hook", events: ["cancelled" as const] }
    const lease = await created(before, { request: aRequest({ options: { ...noOptions, notify } }), idempotency })
    await before.append(lease, [happened(1, "said before")])
    await before.cache.put("", "c", "h", "cached", 60_000)
    await before.close()
    const { ring } = storedRecord(path)
    assert.equal(isFound(path, ring), true)

    assert.equal(changeSqliteKey(path, toSecond), "changed")
    assert.equal(isFound(path, ring), false)
    assert.equal(changeSqliteKey(path, toSecond), "changed before")

    await assert.rejects(open(first), refusedWith(/encrypted with another key.*wire store change-key/))
    assert.match(checkStore(path, createMasterKey(first)).problems.join(), /another key.* Its runs were not opened/)
    const now = await open(second)
    assert.deepEqual((await now.request(lease.run_id)).secrets, { token: "s3cret-token" })
    assert.equal((await now.read(lease.run_id, 0, 10)).length, 1)
    assert.equal(await now.cache.get("", "c", "h"), "cached")
    assert.deepEqual(await now.existing("", idempotency), { outcome: "exists", run_id: lease.run_id })
    const [claimed] = await now.claim(owner, 1, leaseMs)
    assert.ok(claimed !== undefined)
    await now.append(claimed, [ended(2)])
    assert.equal((await now.outbox.ofRun(lease.run_id)).length, 1)
    await now.close()
    assert.deepEqual(checkStore(path, createMasterKey(second)).problems, [])
  })

  test("an old key and a copy of the record from before open no run that began afterwards", async () => {
    const { path, open } = place("copy")
    const store = await open(first)
    const early = await created(store)
    await store.close()
    const copy = storedRecord(path)
    changeSqliteKey(path, toSecond)
    const next = await open(second)
    const late = await created(next)
    await next.close()

    const database = new DatabaseSync(path)
    database.prepare("UPDATE store SET mark = ?, ring = ?").run(copy.mark, copy.ring)
    database.close()
    const stolen = await open(first)
    assert.equal((await stolen.request(early.run_id)).source, "agent a {}")
    await assert.rejects(stolen.request(late.run_id), refusedWith(/cannot be decrypted/))
    await stolen.close()
  })

  test("it is made only where no process has the database open, and can be undone", async () => {
    const { path, open } = place("undone")
    const before = await open(first)
    const { run_id } = await created(before, { idempotency })
    assert.throws(() => changeSqliteKey(path, toSecond), refusedWith(/is in use: stop the service first/))
    await created(before)
    await before.close()
    assert.throws(() => changeSqliteKey(path, changeOfMasterKey(third, second)), refusedWith(/another key/))

    changeSqliteKey(path, toSecond)
    const during = await open(second)
    const later = await created(during)
    await during.close()
    changeSqliteKey(path, changeOfMasterKey(second, first))
    const now = await open(first)
    for (const id of [run_id, later.run_id]) assert.equal((await now.request(id)).source, "agent a {}")
    assert.deepEqual(await now.existing("", idempotency), { outcome: "exists", run_id })
    await now.close()
  })

  test("a root is dropped with the first change after its last run was deleted", async () => {
    const { path, open } = place("dropped")
    const store = await open(first)
    const lease = await created(store)
    await store.append(lease, [happened(1), ended(2)])
    await store.close()
    changeSqliteKey(path, toSecond)
    const long = storedRecord(path).ring.length
    const next = await open(second)
    assert.equal(await next.delete(lease.run_id), "deleted")
    const { run_id } = await created(next)
    await next.close()
    // The second root and a third one; the first is gone.
    changeSqliteKey(path, changeOfMasterKey(second, third))
    assert.equal(storedRecord(path).ring.length, long)
    const last = await open(third)
    assert.equal((await last.request(run_id)).source, "agent a {}")
    await last.close()
  })

  test("killed at any moment: the store opens with one of the two keys", async () => {
    const { path, open } = place("killed")
    const store = await open(first)
    const { run_id } = await created(store)
    await store.close()
    let [from, to] = [first, second]
    for (let at = 0; at < 12; at++) {
      const args = [childFile, "changeKey", path, to.toString("hex"), from.toString("hex")]
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] })
      const exit = once(child, "exit")
      await once(child.stdout, "data")
      // From just before the change until after it: each kill comes a little later.
      const wait = performance.now() + at * 0.4
      while (performance.now() < wait);
      child.kill("SIGKILL")
      await exit
      const key = Buffer.compare(storedRecord(path).mark, createMasterKey(to).mark) === 0 ? to : from
      const opened = await open(key)
      assert.equal((await opened.request(run_id)).source, "agent a {}")
      await opened.close()
      if (key === to) [from, to] = [to, from]
    }
  })
})
