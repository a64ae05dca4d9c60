import { parentPort, workerData } from "node:worker_threads"
import { StoreFailure } from "../../ports/store.ts"
import { openWriter, type WriterData } from "./open-writer.ts"
import { packOutcomes, unpackBatch, type PackedBatch } from "./packed-batch.ts"
import { failureOf } from "./sqlite-error.ts"

// The entry point of the thread that owns the writing connection: `node:sqlite` blocks its thread while a commit goes to
// the disk, and the service's own thread has better things to do meanwhile.

export type ToWriterThread = PackedBatch | "close"

export type FromWriterThread =
  | { readonly open: true; readonly warnings: readonly string[] }
  | { readonly refused: string }
  | { readonly outcomes: string }
  | "closed"

const port = parentPort
if (port === null) throw new Error("This is a worker thread's entry point")
const data = workerData as WriterData
const send = (message: FromWriterThread) => port.postMessage(message)

try {
  const { writer, warnings, close } = openWriter(data)
  let clearing: NodeJS.Timeout | null = null

  const clearLater = () => {
    if (!writer.hasResidue || clearing !== null) return
    clearing = setTimeout(() => {
      clearing = null
      writer.removeResidue()
      clearLater()
    }, data.residueMs)
  }

  port.on("message", (message: ToWriterThread) => {
    if (message !== "close") {
      send({ outcomes: packOutcomes(writer.commit(unpackBatch(message))) })
      clearLater()
      return
    }
    if (clearing !== null) clearTimeout(clearing)
    close()
    send("closed")
    port.close()
  })
  send({ open: true, warnings })
} catch (error) {
  // A sentence, not an error object: those lose their class on the way to the other thread.
  const refusal = error instanceof StoreFailure ? error : failureOf(data.path, error)
  send({ refused: refusal.message })
}
