import { existsSync, statSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { Damaged } from "../../ports/store.ts"
import type { MasterKey } from "../../ports/vault.ts"
import { checkTables, type StoreReport } from "../../store/check-tables.ts"
import { countHolders } from "./holder.ts"
import { otherKey, recordOf } from "./open-database.ts"
import { readsOf } from "./reads.ts"
import { applicationId, currentVersion, readNumber, whyNotOpened } from "./schema.ts"
import { sentenceFor } from "./sqlite-error.ts"
import { readLogFile } from "./write-ahead-log.ts"

/**
 * Looks at everything and changes nothing, whether or not a service has the database open. Without a key the runs are
 * counted, and not opened.
 */
export function checkStore(path: string, masterKey: MasterKey | null): StoreReport {
  const problems: string[] = []
  const open_by = countHolders(path).living
  if (open_by === 0) {
    const log = readLogFile(`${path}-wal`)
    if (log !== null && log.lost > 0) problems.push(logProblem(path, log.lost))
  }
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  try {
    if (readNumber(database, "PRAGMA application_id") !== applicationId) {
      throw new Damaged(`${path} is not a database of this service`)
    }
    const format = readNumber(database, "PRAGMA user_version")
    if (format !== currentVersion) {
      const refused = whyNotOpened(path, format) ?? `${path} has format ${format}, this release has ${currentVersion}`
      problems.push(`${refused}. Only its pages were checked`)
    }
    for (const row of database.prepare("PRAGMA integrity_check(20)").all()) {
      const problem = String(Object.values(row)[0])
      if (problem !== "ok") problems.push(`A page is damaged: ${problem}`)
    }
    const isCurrent = format === currentVersion
    const record = isCurrent ? recordOf(database) : null
    const vault = record === null ? null : (masterKey?.unlock(record) ?? null)
    if (masterKey !== null && vault === null && isCurrent) problems.push(`${otherKey(path)}. Its runs were not opened`)
    const report = readsOf(database, path)(checkTables(vault, isCurrent))
    return {
      ...report,
      path,
      bytes: statSync(path).size + (existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0),
      open_by,
      format,
      problems: [...problems, ...report.problems],
    }
  } finally {
    database.close()
  }
}

export function logProblem(path: string, lost: number): string {
  const what = lost === 1 ? "1 transaction" : `${lost} transactions`
  return `${path}-wal is damaged: ${what} behind the damage cannot be read, so that newer runs and events are missing`
}

/** Why a store cannot be checked. */
export function checkRefusal(path: string, error: unknown): string {
  return error instanceof Damaged ? error.message : sentenceFor(path, error)
}
