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
import { missingKey, type KeyRecord, type MissingKey } from "../../ports/vault.ts"
import { migrations } from "../../store/schema.ts"
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
 * Opens the database for writing, or makes it. Throws a `StoreFailure` whose message says what to do; a file that is
 * refused is left as it was.
 */
export function openForWriting(path: string, marks: readonly Uint8Array[]): DatabaseSync {
  try {
    makeDatabase(path, marks)
    removeAttempts(path)
    inspect(path, marks)
    return prepare(path, marks)
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
function makeDatabase(path: string, marks: readonly Uint8Array[]): void {
  if (existsSync(path)) return
  const temporary = `${path}.${randomBytes(8).toString("hex")}`
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    closeSync(openSync(temporary, "wx", 0o600))
    // Here, too, because a process that is killed in the switch to WAL leaves a journal that `inspect` could not roll back.
    prepare(temporary, marks).close()
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
function inspect(path: string, marks: readonly Uint8Array[]): void {
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
    checkMarks(path, database, marks)
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

/** Throws a `StoreFailure` when a key that the database needs is not among those with these marks. */
export function checkMarks(path: string, database: DatabaseSync, marks: readonly Uint8Array[]): void {
  const record = readKeyRecord(database)
  const missing = record === null ? "both" : missingKey(record, marks)
  if (missing !== null) throw new StoreFailure(keySentence(path, missing))
}

/** What the database remembers of its keys; null before it does. */
export function readKeyRecord(database: DatabaseSync): KeyRecord | null {
  const row = database.prepare("SELECT mark, old_mark, digest FROM store").get()
  const mark = row?.["mark"]
  if (!(mark instanceof Uint8Array)) return null
  const blob = (value: unknown): Uint8Array | null => (value instanceof Uint8Array ? value : null)
  return { mark, old: blob(row?.["old_mark"]), digest: blob(row?.["digest"]) }
}

/** What to do about a missing key, for the operator. */
export function keySentence(path: string, missing: MissingKey): string {
  switch (missing) {
    case "new":
      return (
        `${path} is being changed from this key to a newer one; set WIRE_ENCRYPTION_KEY to the new key, and ` +
        `WIRE_ENCRYPTION_KEY_OLD to this one until the change is done`
      )
    case "old":
      return (
        `${path} still needs the key that it had before this one; set WIRE_ENCRYPTION_KEY_OLD to that key until the service ` +
        `says that the key has been changed`
      )
    case "both":
      return (
        `${path} was encrypted with another key; set WIRE_ENCRYPTION_KEY (or put back the key file) that it was made with, ` +
        `or, to change the key, set WIRE_ENCRYPTION_KEY_OLD to that one; or set WIRE_DATA_DIR to another directory`
      )
  }
}

function prepare(path: string, marks: readonly Uint8Array[]): DatabaseSync {
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
      database.prepare("INSERT INTO store (id, mark) VALUES (1, ?) ON CONFLICT DO NOTHING").run(marks[0] ?? null)
    })
    checkMarks(path, database, marks)
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
