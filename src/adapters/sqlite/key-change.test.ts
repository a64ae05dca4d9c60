import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, describe, test } from "node:test"
import {
  aRequest,
  aRun,
  created,
  ended,
  happened,
  leaseMs,
  noOptions,
  owner,
} from "../../../test/contract/run-store/material.ts"
import { builtProgram } from "../../../test/support/built-programs.ts"
import { ManualClock } from "../../../test/support/manual-clock.ts"
import { within } from "../../../test/support/within.ts"
import { StoreFailure } from "../../ports/store.ts"
import { createVault } from "../vault/vault.ts"
import { checkStore } from "./check-store.ts"
import { openSqliteStore } from "./open-sqlite-store.ts"
import type { RekeyedStore } from "./open-sqlite-store.ts"

const childFile = builtProgram("sqlite-child")
const scratch = mkdtempSync(join(tmpdir(), "wireworks-rekey-"))
after(() => rmSync(scratch, { recursive: true }))

const [first, second, third] = [randomBytes(32), randomBytes(32), randomBytes(32)]
const keys = { old: () => createVault(first), both: () => createVault(second, first), new: () => createVault(second) }

function place(name: string) {
  const path = join(scratch, name, "wire.db")
  const clock = new ManualClock()
  return { path, open: (vault = keys.old()) => openSqliteStore({ path, vault, clock, residueMs: 20 }) }
}

async function changeAll(store: RekeyedStore): Promise<number> {
  assert.ok(store.keyChange !== null)
  for (let all = 0; ;) {
    const { rewritten, left } = await store.keyChange.step()
    all += rewritten
    if (left === 0) return all
  }
}

const refusedWith = (pattern: RegExp) => (error: unknown) =>
  error instanceof StoreFailure && pattern.test(error.message)
const idempotency = { key: "order-1", fingerprint: "f" }

describe("change of the master key", () => {
  test("everything stays readable, then under the new key alone; digests stay", async () => {
    const { path, open } = place("whole")
    const before = await open()
    const notify = { url: "https://app.example.com/hook", events: ["cancelled" as const] }
    const lease = await created(before, { request: aRequest({ options: { ...noOptions, notify } }), idempotency })
    await before.append(lease, [happened(1, "said before")])
    await before.cache.put("", "c", "h", "cached", 60_000)
    const database = new DatabaseSync(path, { readOnly: true })
    const wrapped = Buffer.from(database.prepare("SELECT key FROM runs").get()?.["key"] as Uint8Array)
    database.close()
    await before.close()

    const during = await open(keys.both())
    assert.equal(checkStore(path, keys.both()).under_old_key, 1)
    const later = await created(during)
    assert.deepEqual((await during.request(lease.run_id)).secrets, { token: "s3cret-token" })
    assert.equal(await changeAll(during), 2, "the run's key and its URL; the later run is under the new key")
    assert.equal(checkStore(path, keys.both()).under_old_key, 0)
    assert.equal(await during.cache.get("", "c", "h"), undefined)
    // The old form is gone from every file.
    const found = () =>
      readdirSync(join(path, "..")).some((file) => readFileSync(join(path, "..", file)).includes(wrapped))
    const deadline = performance.now() + 30_000
    while (found() && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal(found(), false)
    await during.close()

    const now = await open(keys.new())
    assert.equal(now.keyChange, null)
    assert.equal((await now.read(lease.run_id, 0, 10)).length, 1)
    assert.equal((await now.request(later.run_id)).source, "agent a {}")
    assert.deepEqual(await now.existing("", idempotency), { outcome: "exists", run_id: lease.run_id })
    const [claimed] = await now.claim(owner, 1, leaseMs)
    assert.ok(claimed !== undefined)
    await now.append(claimed, [ended(2)])
    assert.equal((await now.outbox.ofRun(lease.run_id)).length, 1)
    await now.close()
    assert.deepEqual(checkStore(path, keys.new()).problems, [])

    await assert.rejects(open(keys.old()), refusedWith(/encrypted with another key.*WIRE_ENCRYPTION_KEY_OLD/))
  })

  test("a process that is killed in between: both keys are needed, and the next start goes on", async () => {
    const { path, open } = place("killed")
    const before = await open()
    const runs = Array.from({ length: 450 }, () => aRun())
    await Promise.all(runs.map((run) => before.create(run, owner, leaseMs)))
    await before.close()

    const args = [childFile, "changeKey", path, second.toString("hex"), first.toString("hex")]
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] })
    const lines = once(child.stdout.setEncoding("utf8"), "data")
    const [line] = (await within(60_000, "a step of the child", lines)) as [string]
    assert.deepEqual(JSON.parse(line), { rewritten: 200, left: 251 })
    child.kill("SIGKILL")
    await once(child, "exit")

    await assert.rejects(
      open(keys.old()),
      refusedWith(/from this key to a newer one; set WIRE_ENCRYPTION_KEY to the new/),
    )
    await assert.rejects(open(keys.new()), refusedWith(/still needs the key .* set WIRE_ENCRYPTION_KEY_OLD/))
    await assert.rejects(open(createVault(third, first)), refusedWith(/to a newer one/))
    assert.match(checkStore(path, keys.new()).problems.join(), /WIRE_ENCRYPTION_KEY_OLD/)
    assert.equal(checkStore(path, keys.both()).under_old_key, 250)

    const next = await open(keys.both())
    assert.equal(await changeAll(next), 250)
    await next.close()
    const now = await open(keys.new())
    for (const run of runs) assert.equal((await now.request(run.run_id)).source, run.request.source)
    await now.close()
  })

  test("it begins only where no other process has the database open, and can be undone", async () => {
    const { path, open } = place("undone")
    const before = await open()
    const { run_id } = await created(before, { idempotency })
    await assert.rejects(open(keys.both()), refusedWith(/open in another process.*stop it/))
    await created(before)
    await before.close()

    const during = await open(keys.both())
    const later = await created(during)
    await during.close()
    const back = await open(createVault(first, second))
    assert.equal(await changeAll(back), 1)
    await back.close()
    const now = await open(keys.old())
    for (const id of [run_id, later.run_id]) assert.equal((await now.request(id)).source, "agent a {}")
    assert.deepEqual(await now.existing("", idempotency), { outcome: "exists", run_id })
    await now.close()
    assert.equal(checkStore(path, keys.old()).under_old_key, 0)
  })
})
