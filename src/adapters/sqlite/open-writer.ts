import type { KeyRecord } from "../../ports/vault.ts"
import { clearDeadHolders, holdDatabase } from "./holder.ts"
import { inspectFiles } from "./inspect-files.ts"
import { checkMark, openForWriting } from "./open-database.ts"
import { Writer } from "./writer.ts"

export interface WriterData {
  readonly path: string
  /** The mark of the key that this process has, and the keys of a database that is new. */
  readonly record: KeyRecord
  /** How long after a deletion its residue may be found in the log. */
  readonly residueMs: number
}

export interface OpenedWriter {
  readonly writer: Writer
  /** What was missing or damaged. */
  readonly warnings: readonly string[]
  readonly close: () => void
}

/** Opens the database for the one writer of this process. Throws a `StoreFailure`, or an error of SQLite. */
export function openWriter({ path, record }: WriterData): OpenedWriter {
  // First of all: opening it tidies up what the last process left.
  const warnings = inspectFiles(path)
  const database = openForWriting(path, record)
  clearDeadHolders(path)
  const holder = holdDatabase(path)
  // A process changes the key only while no other holds the database. It may have looked a moment ago: wait for its transaction.
  database.exec("BEGIN IMMEDIATE")
  checkMark(path, database, record)
  database.exec("COMMIT")
  const writer = new Writer(database, path, holder.id)
  return {
    writer,
    warnings,
    close: () => {
      writer.removeResidue()
      database.close()
      holder.release()
    },
  }
}
