import { existsSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { StoreFailure } from "../../ports/store.ts"
import type { KeyChange } from "../../ports/vault.ts"
import { changeKey } from "../../store/key-record.ts"
import { runSteps } from "../../store/sql.ts"
import { execute } from "./execute.ts"
import { countHolders } from "./holder.ts"
import { otherKey } from "./open-database.ts"
import { PreparedStatements } from "./prepared-statements.ts"
import { refuseOtherFormats } from "./schema.ts"
import { failureOf } from "./sqlite-error.ts"

/** Puts the keys of a database that no process has open under another master key. Throws a `StoreFailure`. */
export function changeSqliteKey(path: string, change: KeyChange): "changed" | "changed before" {
  if (!existsSync(path)) throw new StoreFailure(`There is no database ${path}`)
  try {
    const database = new DatabaseSync(path, { timeout: 5_000 })
    try {
      // The record before must be nowhere in the file: with it, the old key would open the store.
      database.exec("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON")
      return changeIn(path, database, change)
    } finally {
      database.close()
    }
  } catch (error) {
    throw failureOf(path, error)
  }
}

function changeIn(path: string, database: DatabaseSync, change: KeyChange): "changed" | "changed before" {
  refuseOtherFormats(path, database)
  // A process that starts now waits for this transaction before it looks at the mark.
  database.exec("BEGIN IMMEDIATE")
  try {
    if (countHolders(path).living > 0) throw new StoreFailure(`${path} is in use: stop the service first`)
    const statements = new PreparedStatements(database)
    const outcome = runSteps(changeKey(change), (statement) => execute(statements, statement))
    if (outcome === null) throw new StoreFailure(otherKey(path))
    database.exec("COMMIT")
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    return outcome
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK")
    throw error
  }
}
