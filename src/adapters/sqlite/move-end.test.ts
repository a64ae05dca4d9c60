import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, test } from "node:test"
import { created, ended, happened } from "../../../test/contract/run-store/material.ts"
import { ManualClock } from "../../../test/support/manual-clock.ts"
import type { MoveEnd } from "../../store/move-store.ts"
import { moveStore, movingMark } from "../../store/move-store.ts"
import { createMasterKey } from "../vault/vault.ts"
import { openSqliteSource, openSqliteTarget, tableShapes } from "./move-end.ts"
import { openSqliteStore } from "./open-sqlite-store.ts"

const folder = mkdtempSync(join(tmpdir(), "wireworks-move-"))
after(() => rmSync(folder, { recursive: true }))

const tombstones = 3_000

test("a move that is interrupted goes on where it stopped, and no service opens what is not whole", async () => {
  const [from, to] = [join(folder, "a.db"), join(folder, "b.db")]
  const masterKey = createMasterKey(randomBytes(32))
  const clock = new ManualClock()
  const store = await openSqliteStore({ path: from, masterKey, clock })
  const lease = await created(store)
  await store.append(lease, [happened(1), ended(2)])
  const open = await created(store)
  await store.append(open, [happened(1)])
  await assert.rejects(async () => openSqliteSource(from), /is in use: stop the service first/)
  await store.close()
  const database = new DatabaseSync(from)
  const bury = database.prepare("INSERT INTO tombstones (run_id, caller, until) VALUES (?, '', 9e15)")
  for (let n = 0; n < tombstones; n++) bury.run(`run_${String(n).padStart(6, "0")}`)
  // A number of a run that is gone is not given again.
  database.exec("UPDATE sqlite_sequence SET seq = 70 WHERE name = 'runs'")
  database.close()

  const move = async (breakAfter = Number.POSITIVE_INFINITY) => {
    const source = openSqliteSource(from)
    try {
      // No service begins to write meanwhile.
      const other = new DatabaseSync(from)
      assert.throws(() => other.exec("BEGIN IMMEDIATE"), /locked/)
      other.close()
      const target = openSqliteTarget(to, movingMark(await source.keys()))
      let left = breakAfter
      const breaking: MoveEnd = {
        ...target,
        transaction: (work) => (left-- > 0 ? target.transaction(work) : Promise.reject(new Error("killed"))),
      }
      try {
        return await moveStore(source, breaking, tableShapes(), () => undefined)
      } finally {
        await target.close()
      }
    } finally {
      await source.close()
    }
  }
  // The tables before the tombstones have one transaction each, and these three.
  const before = tableShapes().findIndex(({ name }) => name === "tombstones") - 1
  await assert.rejects(move(before + 1), /killed/)
  await assert.rejects(openSqliteStore({ path: to, masterKey, clock }), /was encrypted with another key/)
  const { rows, resumed } = await move()
  assert.ok(resumed)
  assert.ok(rows >= tombstones + 4, String(rows))
  await assert.rejects(move(), /is there already/)

  const moved = await openSqliteStore({ path: to, masterKey, clock })
  assert.deepEqual(
    (await moved.read(lease.run_id, 0, 10)).map(({ id }) => id),
    [1, 2],
  )
  assert.equal((await moved.lookup(open.run_id)).found, "run")
  assert.equal((await moved.lookup("run_000000")).found, "expired")
  await created(moved)
  await moved.close()
  const copy = new DatabaseSync(to)
  assert.equal(copy.prepare("SELECT max(num) AS num FROM runs").get()?.["num"], 71)
  copy.close()
})

test("a source that was used after the move began is noticed", async () => {
  const [from, to] = [join(folder, "c.db"), join(folder, "d.db")]
  const masterKey = createMasterKey(randomBytes(32))
  const clock = new ManualClock()
  const store = await openSqliteStore({ path: from, masterKey, clock })
  const lease = await created(store)
  await store.append(lease, [happened(1)])
  await store.close()
  const move = async (isWhole: boolean) => {
    const source = openSqliteSource(from)
    const target = openSqliteTarget(to, movingMark(await source.keys()))
    const end = isWhole ? target : { ...target, setKeys: () => Promise.reject(new Error("killed")) }
    try {
      return await moveStore(source, end, tableShapes(), () => undefined)
    } finally {
      await target.close()
      await source.close()
    }
  }
  await assert.rejects(move(false), /killed/)
  const again = await openSqliteStore({ path: from, masterKey, clock })
  await again.requestCancel(lease.run_id)
  await again.close()
  await assert.rejects(move(true), /The table runs at .* is not that of .*: remove what is at/)
})
