import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, test, type TestContext } from "node:test"
import { StoreFailure } from "../../ports/store.ts"
import { createMasterKey } from "../vault/vault.ts"
import { systemClock } from "../system/system-clock.ts"
import { builtProgram } from "../../../test/support/built-programs.ts"
import { startChild } from "../../../test/support/start-child.ts"
import { openSqliteStore } from "./open-sqlite-store.ts"
import { readLogFile } from "./write-ahead-log.ts"

const scratch = mkdtempSync(join(tmpdir(), "wireworks-files-"))
after(() => rmSync(scratch, { recursive: true, force: true }))
const childFile = builtProgram("sqlite-child")

/** A database whose process was killed: its log and its holder's file are still there. */
async function killed(context: TestContext, name: string): Promise<{ path: string; key: Buffer }> {
  const path = join(scratch, name, "wire.db")
  const key = randomBytes(32)
  const child = startChild(childFile, ["append", path, key.toString("hex")])
  context.after(() => child.process.kill("SIGKILL"))
  await child.printed(100)
  child.process.kill("SIGKILL")
  await child.ended()
  assert.ok(existsSync(`${path}-wal`))
  // As if it had run for a few seconds.
  const before = new Date(Date.now() - 3_000)
  for (const name of readdirSync(dirname(path))) {
    if (name.includes("-holder-")) utimesSync(join(dirname(path), name), before, before)
  }
  return { path, key }
}

async function warningsOf(path: string, key: Buffer): Promise<string[]> {
  const warnings: string[] = []
  const warn = (sentence: string): number => warnings.push(sentence)
  const store = await openSqliteStore({ path, masterKey: createMasterKey(key), clock: systemClock, warn })
  await store.close()
  return warnings
}

/** Changes a byte in the middle. */
function damage(path: string): void {
  const bytes = readFileSync(path)
  const at = Math.floor(bytes.length / 2)
  bytes[at] = (bytes[at] ?? 0) ^ 0xff
  writeFileSync(path, bytes)
}

test("a process that was killed leaves nothing to warn of", async (context) => {
  const { path, key } = await killed(context, "killed")
  assert.deepEqual(await warningsOf(path, key), [])
  assert.deepEqual(await warningsOf(path, key), [])
})

test("a log that has gone missing is reported", async (context) => {
  const { path, key } = await killed(context, "no-log")
  rmSync(`${path}-wal`)
  rmSync(`${path}-shm`)
  const [warning = "", ...more] = await warningsOf(path, key)
  assert.match(warning, /wire\.db-wal is missing/)
  assert.deepEqual(more, [])
})

test("a damaged log is reported with what it loses, and kept under another name", async (context) => {
  const { path, key } = await killed(context, "damaged-log")
  damage(`${path}-wal`)
  const [warning = "", ...more] = await warningsOf(path, key)
  assert.match(warning, /wire\.db-wal is damaged: \d+ transactions? behind the damage/)
  assert.deepEqual(more, [])
  assert.equal(readdirSync(dirname(path)).filter((name) => name.includes("-wal.damaged-")).length, 1)
})

test("a database that is missing beside its log is refused, and so is a directory", async (context) => {
  const { path, key } = await killed(context, "no-database")
  rmSync(path)
  await assert.rejects(warningsOf(path, key), (error: unknown) => {
    assert.ok(error instanceof StoreFailure)
    assert.match(error.message, /wire\.db is missing, and its write-ahead log .* is there/)
    return true
  })
  assert.ok(existsSync(`${path}-wal`))
  const directory = join(scratch, "directory", "wire.db")
  mkdirSync(directory, { recursive: true })
  await assert.rejects(warningsOf(directory, key), { message: /wire\.db is a directory/ })
})

test("what is read of a log is what SQLite reads of it", () => {
  const path = join(scratch, "plain.db")
  const database = new DatabaseSync(path)
  database.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x)")
  for (let n = 0; n < 20; n++) database.exec(`INSERT INTO t VALUES (${n})`)
  // Its first transaction made the table.
  const copy = (name: string): string => {
    const to = join(scratch, name)
    cpSync(path, to)
    cpSync(`${path}-wal`, `${to}-wal`)
    return to
  }
  const rows = (at: string): number => {
    const opened = new DatabaseSync(at)
    const { n } = opened.prepare("SELECT count(*) AS n FROM t").get() as { n: number }
    opened.close()
    return n
  }
  const whole = copy("whole.db")
  assert.deepEqual(readLogFile(`${whole}-wal`), { committed: 21, lost: 0 })
  assert.equal(rows(whole), 20)

  const broken = copy("broken.db")
  damage(`${broken}-wal`)
  const state = readLogFile(`${broken}-wal`)
  assert.ok(state !== null && state.lost > 0 && state.committed + state.lost === 21, JSON.stringify(state))
  assert.equal(rows(broken), state.committed - 1)

  // A last write that a crash cut short is not damage.
  const torn = copy("torn.db")
  truncateSync(`${torn}-wal`, readFileSync(`${torn}-wal`).length - 1000)
  assert.deepEqual(readLogFile(`${torn}-wal`), { committed: 20, lost: 0 })
  assert.equal(rows(torn), 19)
  assert.equal(readLogFile(join(scratch, "nothing-wal")), null)
  database.close()
})
