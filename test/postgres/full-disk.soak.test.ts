import assert from "node:assert/strict"
import { chownSync } from "node:fs"
import { test } from "node:test"
import { fillUnderService, smallDisk } from "../support/full-disk.ts"
import { account, startPostgres } from "../support/postgres-server.ts"

test("a full disk of PostgreSQL: readiness goes off, runs wait without asking again, and all comes back by itself", async (t) => {
  const disk = smallDisk(48)
  if (disk === null) return t.skip("this user may not mount a file system")
  const { uid, gid } = account()
  if (uid !== undefined && gid !== undefined) chownSync(disk.folder, uid, gid)
  const server = await startPostgres({ config: ["fsync=off"] })
  t.after(() => server.close())
  // The server's log is elsewhere: without room for that, it stops.
  await server.query(`CREATE TABLESPACE small LOCATION '${disk.folder}'`)
  await server.query("CREATE DATABASE wire TABLESPACE small")
  await fillUnderService({
    disk,
    store: { WIRE_STORE: server.url("wire"), WIRE_ENCRYPTION_KEY: "5".repeat(64) },
    sentence:
      /The disk of PostgreSQL at 127\.0\.0\.1:\d+\/wire is full: nothing more can be stored until there is space/,
  })
  const found = await server.query(
    "SELECT count(*)::int AS runs, count(finished_at)::int AS ended FROM wire.runs",
    "wire",
  )
  assert.deepEqual(found, [{ runs: 3, ended: 3 }])
})
