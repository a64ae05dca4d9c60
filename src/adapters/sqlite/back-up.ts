import { existsSync, rmSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { StoreFailure } from "../../ports/store.ts"

/**
 * Copies the database as it is at one moment into a new file, whole and without free pages. The service may run meanwhile: readers
 * do not stop its writers. Throws a `StoreFailure` with a sentence.
 */
export function backUp(path: string, target: string): void {
  if (existsSync(target)) throw new StoreFailure(`${target} exists already: a backup overwrites nothing.`)
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  try {
    database.prepare("VACUUM INTO ?").run(target)
  } catch (error) {
    // A part of a database is worse than none.
    rmSync(target, { force: true })
    const reason = error instanceof Error ? error.message : String(error)
    throw new StoreFailure(`The backup ${target} could not be written: ${reason}.`, error)
  } finally {
    database.close()
  }
}
