import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import {
  chmodSync,
  copyFileSync,
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
import { after, describe, test } from "node:test"
import { created, leaseMs, several } from "../../../test/contract/run-store/material.ts"
import { builtProgram } from "../../../test/support/built-programs.ts"
import { ManualClock } from "../../../test/support/manual-clock.ts"
import { startChild } from "../../../test/support/start-child.ts"
import { StoreFailure } from "../../ports/store.ts"
import { createMasterKey } from "../vault/vault.ts"
import { checkStore } from "./check-store.ts"
import { migrations } from "../../store/schema.ts"
import { currentVersion, migrate } from "./schema.ts"
import { openSqliteStore } from "./open-sqlite-store.ts"

const scratch = mkdtempSync(join(tmpdir(), "wireworks-open-"))
after(() => rmSync(scratch, { recursive: true }))
const childFile = builtProgram("sqlite-child")
const key = Buffer.alloc(32, 7)
const clock = new ManualClock()

let count = 0
function newPath(): string {
  const directory = join(scratch, String(++count))
  mkdirSync(directory)
  return join(directory, "wire.db")
}

const open = (path: string) => openSqliteStore({ path, masterKey: createMasterKey(key), clock })

/** A database with a few runs in it, closed. */
async function filled(): Promise<string> {
  const path = newPath()
  const store = await open(path)
  for (let n = 0; n < 20; n++) await store.append(await created(store), several(1, 20))
  await store.close()
  return path
}

/** It is refused with a sentence that says so, and not a byte of it changes. */
async function refused(path: string, sentence: RegExp): Promise<void> {
  const before = readFileSync(path)
  await assert.rejects(open(path), (error) => {
    assert.ok(error instanceof StoreFailure, String(error))
    assert.match(error.message, sentence)
    assert.ok(error.message.includes(path), error.message)
    return true
  })
  assert.equal(Buffer.compare(readFileSync(path), before), 0, "the file has changed")
}

describe("opening a sqlite store", () => {
  test("what a process left that was killed while it made the database is removed, when it is surely not being made", async () => {
    const path = newPath()
    const left = ["0123456789abcdef", "0123456789abcdef-wal", "fedcba9876543210"].map((end) => `${path}.${end}`)
    for (const file of [...left, `${path}.backup`]) writeFileSync(file, "")
    const old = new Date(Date.now() - 120_000)
    for (const file of [...left.slice(0, 2), `${path}.backup`]) utimesSync(file, old, old)
    await (await open(path)).close()
    assert.deepEqual(readdirSync(dirname(path)).toSorted(), ["wire.db", "wire.db.backup", "wire.db.fedcba9876543210"])
  })

  test("an empty file is refused: a new database is made whole or not at all", async () => {
    const whole = await filled()
    for (const size of [0, 1]) {
      const path = newPath()
      copyFileSync(whole, path)
      truncateSync(path, size)
      await refused(path, /is empty: it has no tables.* remove the file$/)
      rmSync(path)
      const store = await open(path)
      await created(store)
      await store.close()
      assert.deepEqual(readdirSync(dirname(path)), ["wire.db"])
    }
  })

  test("a database without tables is refused", async () => {
    const path = newPath()
    const database = new DatabaseSync(path)
    database.exec("CREATE TABLE t (x); DROP TABLE t")
    database.close()
    await refused(path, /is empty: it has no tables/)
  })

  test("a database of a release is brought to the next format, with all that is in it", () => {
    const first = "CREATE TABLE things (name TEXT); INSERT INTO things VALUES ('kept')"
    const steps = [first, "ALTER TABLE things ADD COLUMN size INTEGER DEFAULT 7", "CREATE TABLE more (id INTEGER)"]
    const versionOf = (database: DatabaseSync) => database.prepare("PRAGMA user_version").get()?.["user_version"]
    const schemaOf = (database: DatabaseSync) =>
      database.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY name").all()
    const fresh = new DatabaseSync(":memory:")
    migrate(fresh, steps)
    for (let count = 1; count <= steps.length; count++) {
      const old = new DatabaseSync(":memory:")
      migrate(old, steps.slice(0, count))
      old.exec("INSERT INTO things (name) VALUES ('own')")
      migrate(old, steps)
      assert.deepEqual(schemaOf(old), schemaOf(fresh))
      assert.equal(versionOf(old), versionOf(fresh))
      const things = old.prepare("SELECT name, size FROM things").all()
      assert.deepEqual(
        things.map(({ name, size }) => [name, size]),
        [
          ["kept", 7],
          ["own", 7],
        ],
      )
      migrate(old, steps)
      assert.equal(versionOf(old), versionOf(fresh))
    }
  })

  test("one of a development version is refused, and says what to do", async () => {
    for (const version of [1, 14]) {
      const path = await filled()
      const database = new DatabaseSync(path)
      database.exec(`PRAGMA user_version = ${version}; PRAGMA journal_mode = DELETE`)
      database.close()
      await refused(
        path,
        /written by a development version .*start that version to finish its runs, then move the file away/,
      )
      const { problems, format } = checkStore(path, createMasterKey(key))
      assert.equal(format, version)
      assert.match(problems.join("\n"), /development version.*Only its pages were checked/)
    }
  })

  test("a step that fails leaves the version before it", () => {
    const database = new DatabaseSync(":memory:")
    migrate(database)
    const steps = [...migrations, "CREATE TABLE more (id INTEGER)", "CREATE TABLE runs (twice INTEGER)"]
    assert.throws(() => migrate(database, steps))
    assert.equal(database.prepare("PRAGMA user_version").get()?.["user_version"], currentVersion)
    assert.equal(database.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'more'").get()?.["n"], 0)
  })

  test("other processes see a new database once its mark is in it", () => {
    const path = newPath()
    const database = new DatabaseSync(path)
    const seen: unknown[] = []
    const look = (): void => {
      const other = new DatabaseSync(path, { readOnly: true })
      seen.push(other.prepare("SELECT count(*) AS tables FROM sqlite_schema").get()?.["tables"])
      other.close()
    }
    migrate(database, migrations, look)
    look()
    database.close()
    assert.equal(seen[0], 0)
    assert.notEqual(seen[1], 0)
  })

  test("a newer one is refused", async () => {
    const path = await filled()
    const database = new DatabaseSync(path)
    database.exec("PRAGMA user_version = 99; PRAGMA journal_mode = DELETE")
    database.close()
    await refused(path, /written by a newer version of this service \(format 99, this one knows \d+\)/)
  })

  test("what another program wrote is refused", async () => {
    const path = newPath()
    const database = new DatabaseSync(path)
    database.exec("CREATE TABLE customers (name TEXT); INSERT INTO customers VALUES ('Ada')")
    database.close()
    await refused(path, /is a database of another program/)

    const versioned = newPath()
    const other = new DatabaseSync(versioned)
    other.exec("PRAGMA application_id = 12345; PRAGMA user_version = 1; CREATE TABLE runs (id INTEGER)")
    other.close()
    await refused(versioned, /is a database of another program/)

    for (const contents of ["Dear diary,\n", randomBytes(10_000), "SQLite format 3\u0000", Buffer.alloc(8_192)]) {
      const file = newPath()
      writeFileSync(file, contents)
      await refused(file, /is not a database of this service|is damaged/)
    }
  })

  test("a damaged one is refused", async () => {
    const whole = await filled()
    const size = readFileSync(whole).length
    const damages: Record<string, (path: string) => void> = {
      "cut short": (path) => truncateSync(path, Math.floor(size / 2 / 4_096) * 4_096),
      "garbage in the schema": (path) => overwrite(path, 100, randomBytes(300)),
      "garbage in the middle": (path) => overwrite(path, Math.floor(size / 2 / 4_096) * 4_096, randomBytes(4_096)),
      "garbage all over": (path) => overwrite(path, 4_096, randomBytes(size - 4_096)),
    }
    for (const [name, damage] of Object.entries(damages)) {
      const path = newPath()
      copyFileSync(whole, path)
      damage(path)
      await refused(path, /is damaged|is not a database of this service/).catch((error: unknown) => {
        throw new Error(name, { cause: error })
      })
    }
    const store = await open(whole)
    assert.equal((await store.claim("heir", 100, leaseMs)).length, 20)
    await store.close()
  })

  test("a directory that cannot be written to, or is not a directory, is refused", async () => {
    const file = newPath()
    writeFileSync(file, "a file")
    await assert.rejects(open(join(file, "data", "wire.db")), StoreFailure)

    const directory = join(scratch, "read-only")
    mkdirSync(directory)
    chmodSync(directory, 0o555)
    const path = join(directory, "wire.db")
    // Root may write anywhere, so another user must try.
    const by = process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
    chmodSync(scratch, 0o755)
    const child = startChild(childFile, ["tryToOpen", path, key.toString("hex")], by)
    assert.deepEqual(await child.ended(), { code: 0, errors: "" })
    assert.match(child.lines[0] ?? "", /^.*read-only\/wire\.db cannot be made: EACCES/)
    assert.equal(child.lines[1], "no file")
  })

  test("a database that may only be read is refused", async () => {
    const path = await filled()
    chmodSync(path, 0o444)
    chmodSync(join(path, ".."), 0o555)
    const by = process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
    const child = startChild(childFile, ["tryToOpen", path, key.toString("hex")], by)
    assert.deepEqual(await child.ended(), { code: 0, errors: "" })
    assert.match(child.lines[0] ?? "", /wire\.db cannot be (written to|opened); check/)
    chmodSync(join(path, ".."), 0o755)
  })

  const canMount = spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "tmpfs", scratch]).status === 0

  test(
    "on a full disk nothing acknowledged is lost, and with space all goes on",
    { skip: canMount ? false : "needs a mount namespace (unshare -rm)" },
    async () => {
      const path = newPath()
      const script = `mount -t tmpfs -o size=32m tmpfs "$0" && exec "$@"`
      const by = ["unshare", "-rm", "sh", "-c", script, join(path, "..")]
      const child = startChild(childFile, ["fillDisk", path, key.toString("hex")], by)
      assert.deepEqual(await child.ended(), { code: 0, errors: "" })
      const [events = 0] = child.lines.map((line) => Number(/^(\d+) events$/.exec(line)?.[1]))
      assert.ok(events > 50 && events < 200, `${events} events`)
    },
  )
})

function overwrite(path: string, at: number, bytes: Uint8Array): void {
  const contents = readFileSync(path)
  contents.set(bytes, at)
  writeFileSync(path, contents)
}
