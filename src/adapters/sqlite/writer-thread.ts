import { parentPort, workerData } from "node:worker_threads"
import { StoreFailure } from "../../ports/store.ts"
import type { KeyRecord } from "../../ports/vault.ts"
import { clearDeadHolders, holdDatabase } from "./holder.ts"
import { inspectFiles } from "./inspect-files.ts"
import { checkMark, openForWriting } from "./open-database.ts"
import { packOutcomes, unpackBatch, type PackedBatch } from "./packed-batch.ts"
import { failureOf } from "./sqlite-error.ts"
import { Writer } from "./writer.ts"

// The entry point of the thread that owns the writing connection: `node:sqlite` blocks its thread while a commit goes to
// the disk, and the service's own thread has better things to do meanwhile.

export interface WriterThreadData {
  readonly path: string
  /** The mark of the key that this process has, and the keys of a database that is new. */
  readonly record: KeyRecord
  /** How long after a deletion its residue may be found in the log. */
  readonly residueMs: number
}

export type ToWriterThread = PackedBatch | "close"

export type FromWriterThread =
  | { readonly open: true; readonly warnings: readonly string[] }
  | { readonly refused: string }
  | { readonly outcomes: string }
  | "closed"

const port = parentPort
if (port === null) throw new Error("This is a worker thread's entry point")
const { path, record, residueMs } = workerData as WriterThreadData
const send = (message: FromWriterThread) => port.postMessage(message)

try {
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
  let clearing: NodeJS.Timeout | null = null

  const clearLater = () => {
    if (!writer.hasResidue || clearing !== null) return
    clearing = setTimeout(() => {
      clearing = null
      writer.removeResidue()
      clearLater()
    }, residueMs)
  }

  port.on("message", (message: ToWriterThread) => {
    if (message !== "close") {
      send({ outcomes: packOutcomes(writer.commit(unpackBatch(message))) })
      clearLater()
      return
    }
    if (clearing !== null) clearTimeout(clearing)
    writer.removeResidue()
    database.close()
    holder.release()
    send("closed")
    port.close()
  })
  send({ open: true, warnings })
} catch (error) {
  // A sentence, not an error object: those lose their class on the way to the other thread.
  const refusal = error instanceof StoreFailure ? error : failureOf(path, error)
  send({ refused: refusal.message })
}
