import { closeSync, openSync, rmSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { StoreFailure } from "../../ports/store.ts"

/**
 * Copies the database as it is at one moment into a new file, whole and without free pages. The service may run meanwhile: readers
 * do not stop its writers. Throws a `StoreFailure` with a sentence.
 */
export function backUp(path: string, target: string): void {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  try {
    createEmpty(target)
    copyInto(target, database)
  } finally {
    database.close()
  }
}

/** For the owner alone, as the database is. SQLite writes into an empty file. */
function createEmpty(target: string): void {
  try {
    closeSync(openSync(target, "wx", 0o600))
  } catch (error) {
    const exists = error instanceof Error && "code" in error && error.code === "EEXIST"
    if (exists) throw new StoreFailure(`${target} exists already: a backup overwrites nothing.`, error)
    throw notWritten(target, error)
  }
}

function copyInto(target: string, database: DatabaseSync): void {
  try {
    database.prepare("VACUUM INTO ?").run(target)
  } catch (error) {
    // A part of a database is worse than none.
    rmSync(target, { force: true })
    throw notWritten(target, error)
  }
}

function notWritten(target: string, error: unknown): StoreFailure {
  const reason = error instanceof Error ? error.message : String(error)
  return new StoreFailure(`The backup ${target} could not be written: ${reason}.`, error)
}
