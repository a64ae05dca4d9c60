import { randomBytes } from "node:crypto"
import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs"
import { basename, dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { StoreFailure } from "../../ports/store.ts"
import { isUnder, type KeyRecord } from "../../ports/vault.ts"
import { readKeyRecord } from "../../store/key-record.ts"
import { migrations } from "../../store/schema.ts"
import { runSteps } from "../../store/sql.ts"
import { execute } from "./execute.ts"
import { PreparedStatements } from "./prepared-statements.ts"
import { applicationId, migrate, readNumber, whyNotOpened } from "./schema.ts"
import { codeOf, failureOf, sqliteCode } from "./sqlite-error.ts"

/** How long a writer waits for another process's transaction. */
const writerWaitMs = 5_000
/** Readers wait only in the moments when another process opens or closes the database. */
const readerWaitMs = 1_000
/** Up to this size the whole file is checked when it is opened, which takes some tens of milliseconds. */
const checkedBytes = 32 * 1024 * 1024
/** A database is made in well under a second: a file of an older attempt was left by a process that was killed. */
const attemptMs = 60_000
const keptLogBytes = 16 * 1024 * 1024

/**
 * Opens the database for writing, or makes it with these keys. Throws a `StoreFailure` whose message says what to do; a file that is
 * refused is left as it was.
 */
export function openForWriting(path: string, record: KeyRecord): DatabaseSync {
  try {
    makeDatabase(path, record)
    removeAttempts(path)
    inspect(path, record)
    return prepare(path, record)
  } catch (error) {
    throw failureOf(path, error)
  }
}

/** Opens a second connection to a database that `openForWriting` has opened. */
export function openForReading(path: string): DatabaseSync {
  try {
    const database = new DatabaseSync(path, { timeout: readerWaitMs })
    database.exec("PRAGMA query_only = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000")
    return database
  } catch (error) {
    throw failureOf(path, error)
  }
}

/**
 * Makes the database whole or not at all: written to another file, then linked to the name. So a file without tables is never a new
 * one. Only the owner may read it: its plain text (who called when) is private too.
 */
function makeDatabase(path: string, record: KeyRecord): void {
  if (existsSync(path)) return
  const temporary = `${path}.${randomBytes(8).toString("hex")}`
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    closeSync(openSync(temporary, "wx", 0o600))
    // Here, too, because a process that is killed in the switch to WAL leaves a journal that `inspect` could not roll back.
    prepare(temporary, record).close()
    nameIt(temporary, path)
  } catch (error) {
    if (codeOf(error) !== null) throw error
    throw new StoreFailure(`${path} cannot be made: ${error instanceof Error ? error.message : String(error)}`, error)
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** What processes left that were killed while they made the database. */
function removeAttempts(path: string): void {
  const name = basename(path)
  for (const file of readdirSync(dirname(path))) {
    if (!file.startsWith(`${name}.`) || !/^[0-9a-f]{16}(?:-wal|-shm|-journal)?$/.test(file.slice(name.length + 1)))
      continue
    const left = join(dirname(path), file)
    const age = Date.now() - (statSync(left, { throwIfNoEntry: false })?.mtimeMs ?? Infinity)
    if (age > attemptMs) rmSync(left, { force: true })
  }
}

/** Unless another process was first. */
function nameIt(temporary: string, path: string): void {
  try {
    linkSync(temporary, path)
  } catch {
    // There it is, or the file system has no links.
    if (!existsSync(path)) renameSync(temporary, path)
  }
}

/** Refuses what is not ours to open, before anything is written. */
function inspect(path: string, record: KeyRecord): void {
  const { size } = statSync(path)
  const database = new DatabaseSync(path, { readOnly: true, timeout: writerWaitMs })
  try {
    const tables = readNumber(database, "SELECT count(*) FROM sqlite_schema")
    const owner = readNumber(database, "PRAGMA application_id")
    const version = readNumber(database, "PRAGMA user_version")
    if (tables === 0 && owner === 0 && version === 0) {
      throw new StoreFailure(
        `${path} is empty: it has no tables, so the runs that it held are lost. Restore it from a backup; to begin with an empty store, ` +
          "remove the file",
      )
    }
    if (owner !== applicationId) {
      throw new StoreFailure(
        `${path} is a database of another program; move it away, or set WIRE_DATA_DIR to another directory`,
      )
    }
    const refused = whyNotOpened(path, version)
    if (refused !== null) throw new StoreFailure(refused)
    checkMark(path, database, record)
    if (size <= checkedBytes) checkPages(path, database)
  } finally {
    database.close()
  }
}

function checkPages(path: string, database: DatabaseSync): void {
  const [problem] = Object.values(database.prepare("PRAGMA quick_check(1)").get() ?? {})
  if (problem === "ok") return
  throw new StoreFailure(
    `${path} is damaged (${String(problem)}); restore it from a backup, or move it away to begin anew`,
  )
}

/** Throws a `StoreFailure` when another master key than that with this mark wrapped the database's keys. */
export function checkMark(path: string, database: DatabaseSync, key: Pick<KeyRecord, "mark">): void {
  const found = recordOf(database)
  if (found === null || !isUnder(found, key)) throw new StoreFailure(otherKey(path))
}

/** What the database remembers of its keys; null where that was lost. */
export function recordOf(database: DatabaseSync): KeyRecord | null {
  const statements = new PreparedStatements(database)
  return runSteps(readKeyRecord(), (statement) => execute(statements, statement))
}

export function otherKey(path: string): string {
  return (
    `${path} was encrypted with another key; set WIRE_ENCRYPTION_KEY (or put back the key file) that it was made with or that it was last changed to; ` +
    "or set WIRE_DATA_DIR to another directory. To change the key: wire store change-key"
  )
}

function prepare(path: string, record: KeyRecord): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: writerWaitMs })
  try {
    useWriteAheadLog(path, database)
    database.exec(`
      PRAGMA synchronous = FULL;
      PRAGMA secure_delete = ON;
      PRAGMA temp_store = MEMORY;
      PRAGMA cache_size = -16000;
      PRAGMA journal_size_limit = ${keptLogBytes};
    `)
    // In one transaction: a process that opens the database meanwhile must not see it without its mark.
    migrate(database, migrations, () => {
      database
        .prepare("INSERT INTO store (id, mark, ring) VALUES (1, ?, ?) ON CONFLICT DO NOTHING")
        .run(record.mark, record.ring)
    })
    checkMark(path, database, record)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** The switch to WAL does not wait for locks, so that several processes that make the database at once must. */
function useWriteAheadLog(path: string, database: DatabaseSync): void {
  const deadline = performance.now() + writerWaitMs
  for (;;) {
    try {
      const mode = database.prepare("PRAGMA journal_mode = WAL").get()?.["journal_mode"]
      if (mode === "wal") return
      throw new StoreFailure(`The file system of ${path} cannot hold SQLite's write-ahead log; use a local disk`)
    } catch (error) {
      if (codeOf(error) !== sqliteCode.busy || performance.now() > deadline) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}
