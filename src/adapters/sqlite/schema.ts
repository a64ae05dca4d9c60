import type { DatabaseSync } from "node:sqlite"
import { StoreFailure } from "../../ports/store.ts"
import { migrations } from "../../store/schema.ts"

/** "WIRE": tells our databases from those of other programs. */
export const applicationId = 0x57495245

/** Development versions had the formats up to here. */
const lastUnreleased = 19

/** The format of a database after so many steps. */
const formatAfter = (steps: readonly string[]): number => lastUnreleased + steps.length

export const currentVersion = formatAfter(migrations)

/** Why a database of this format cannot be opened; null when it can, maybe after later steps. */
export function whyNotOpened(path: string, version: number): string | null {
  if (version > currentVersion) {
    return (
      `${path} was written by a newer version of this service (format ${version}, this one knows ${currentVersion}); ` +
      `start that version, or set WIRE_DATA_DIR to another directory`
    )
  }
  if (version > lastUnreleased) return null
  return (
    `${path} was written by a development version of this service (format ${version}, this one reads ${lastUnreleased + 1} ` +
    `to ${currentVersion}); start that version to finish its runs, then move the file away, or set WIRE_DATA_DIR to another directory`
  )
}

/** For commands that change nothing of the format. Throws a `StoreFailure`. */
export function refuseOtherFormats(path: string, database: DatabaseSync): void {
  if (readNumber(database, "PRAGMA application_id") !== applicationId) {
    throw new StoreFailure(`${path} is not a database of this service`)
  }
  const format = readNumber(database, "PRAGMA user_version")
  if (format === currentVersion) return
  throw new StoreFailure(
    whyNotOpened(path, format) ??
      `${path} has format ${format}, this release has ${currentVersion}: start the service on it once, and stop it`,
  )
}

/** Makes the tables of a new database, or brings one of a release to the current format, and fills it, in one transaction. */
export function migrate(
  database: DatabaseSync,
  steps: readonly string[] = migrations,
  fill: () => void = () => undefined,
): void {
  database.exec("BEGIN IMMEDIATE")
  try {
    // Read inside of the transaction: another process may have migrated in the meantime.
    const done = Math.max(0, readNumber(database, "PRAGMA user_version") - lastUnreleased)
    for (const step of steps.slice(done)) database.exec(step)
    if (done < steps.length) {
      database.exec(`PRAGMA user_version = ${formatAfter(steps)}; PRAGMA application_id = ${applicationId}`)
    }
    fill()
    database.exec("COMMIT")
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK")
    throw error
  }
}

/** The one number that a query answers. */
export function readNumber(database: DatabaseSync, query: string): number {
  const row = database.prepare(query).get()
  const value = Object.values(row ?? {})[0]
  if (typeof value !== "number") throw new Error(`${query} gave no number`)
  return value
}
