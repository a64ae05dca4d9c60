import { Worker } from "node:worker_threads"
import { StoreBroken, StoreFailure } from "../../ports/store.ts"
import type { BatchWriter, SentOperation } from "../../store/commit-queue.ts"
import type { Outcome } from "../../store/writes.ts"
import { packBatch, unpackOutcomes } from "./packed-batch.ts"
import type { WriterData } from "./open-writer.ts"
import type { FromWriterThread, ToWriterThread } from "./writer-thread.ts"

interface Sent {
  readonly count: number
  readonly resolve: (outcomes: readonly Outcome[]) => void
  readonly reject: (reason: Error) => void
}

/** Writes batches in a thread of its own, one after the other. */
export class ThreadWriter implements BatchWriter {
  /** What was missing or damaged when the database was opened. */
  readonly warnings: readonly string[]
  readonly #worker: Worker
  #sent: Sent | null = null
  #closing: PromiseWithResolvers<void> | null = null
  #broken: string | null = null

  private constructor(worker: Worker, warnings: readonly string[]) {
    this.#worker = worker
    this.warnings = warnings
    worker.on("message", (message: FromWriterThread) => this.#receive(message))
    worker.on("error", (error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error)
      this.#break(`The store's writer has ended (${reason}); restart the service`)
    })
    worker.on("exit", () => this.#break("The store's writer has ended; restart the service"))
    // An idle store keeps no process alive.
    worker.unref()
  }

  /** Starts the thread and opens the database in it. Rejects with a `StoreFailure`. */
  static async open(data: WriterData, file = threadFile()): Promise<ThreadWriter> {
    const worker = new Worker(file, {
      workerData: data,
      name: "sqlite writer",
      // Node 22 warns that its SQLite is experimental.
      env: { ...process.env, NODE_NO_WARNINGS: "1" },
    })
    const first = await new Promise<FromWriterThread>((resolve, reject) => {
      worker.once("message", resolve)
      worker.once("error", reject)
      worker.once("exit", () => reject(new StoreFailure("The store's writer ended before it had begun")))
    })
    if (typeof first === "object" && "open" in first) return new ThreadWriter(worker, first.warnings)
    await worker.terminate()
    throw new StoreFailure(typeof first === "object" && "refused" in first ? first.refused : "The store did not open")
  }

  get broken(): string | null {
    return this.#broken
  }

  write(batch: readonly SentOperation[]): Promise<readonly Outcome[]> {
    if (this.#broken !== null) return Promise.reject(new StoreBroken(this.#broken))
    return new Promise((resolve, reject) => {
      const packed = packBatch(batch.map(({ operation }) => operation))
      this.#worker.postMessage(packed satisfies ToWriterThread, [packed.bytes.buffer])
      this.#worker.ref()
      this.#sent = { count: batch.length, resolve, reject }
    })
  }

  async close(): Promise<void> {
    if (this.#broken !== null) return
    this.#closing = Promise.withResolvers()
    this.#worker.ref()
    this.#worker.postMessage("close" satisfies ToWriterThread)
    await this.#closing.promise
  }

  #receive(message: FromWriterThread): void {
    if (message === "closed") return this.#break("The store is closed")
    if (typeof message !== "object" || !("outcomes" in message)) return
    const sent = this.#sent
    this.#sent = null
    this.#worker.unref()
    sent?.resolve(unpackOutcomes(sent.count, message.outcomes))
  }

  #break(reason: string): void {
    this.#broken ??= reason
    this.#sent?.reject(new StoreBroken(this.#broken))
    this.#sent = null
    this.#closing?.resolve()
  }
}

/** Beside this file, in the sources as in the bundle. */
function threadFile(): URL {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js"
  return new URL(`./writer-thread.${extension}`, import.meta.url)
}
