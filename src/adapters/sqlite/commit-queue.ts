import { Worker } from "node:worker_threads"
import { StoreFailure } from "../../ports/store.ts"
import type { Operation, Outcome, ResultOf } from "./writer.ts"
import { packBatch, unpackOutcomes } from "./packed-batch.ts"
import type { FromWriterThread, ToWriterThread, WriterThreadData } from "./writer-thread.ts"

/** More than this goes into the next transaction, so that no commit takes long. */
const batchOperations = 1_000
const batchBytes = 16 * 1024 * 1024
const provenMs = 5_000
/** The others may have had nothing to write: a claim that finds no run proves nothing. */
const writes: ReadonlySet<Operation["kind"]> = new Set<Operation["kind"]>(["create", "append", "condemn", "probe"])

interface Waiting {
  readonly operation: Operation
  /** Makes what is sent in place of `operation`, at the moment when it is sent. */
  readonly complete: (() => Operation) | null
  readonly resolve: (value: never) => void
  readonly reject: (reason: Error) => void
}

/**
 * Group commit: what one turn of the event loop asks for, and whatever comes while the disk is busy with the transaction
 * before, goes to the writer thread as one batch.
 */
export class CommitQueue {
  /** What was missing or damaged when the database was opened. */
  readonly warnings: readonly string[]
  readonly #worker: Worker
  #waiting: Waiting[] = []
  #sent: Waiting[] | null = null
  #scheduled = false
  #closing: PromiseWithResolvers<void> | null = null
  /** Why nothing can be written any more. */
  #broken: string | null = null
  /** When something was stored last; minus infinity when the last thing could not be. */
  #storedAt = -Infinity
  #failedLast = false

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
  static async open(data: WriterThreadData, file = threadFile()): Promise<CommitQueue> {
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
    if (typeof first === "object" && "open" in first) return new CommitQueue(worker, first.warnings)
    await worker.terminate()
    throw new StoreFailure(typeof first === "object" && "refused" in first ? first.refused : "The store did not open")
  }

  /** Whether there is recent proof that the store can be written to. */
  get storedLately(): boolean {
    return this.#broken === null && performance.now() - this.#storedAt < provenMs
  }

  /** The last thing that was to be stored could not be. */
  get failedLast(): boolean {
    return this.#failedLast
  }

  /**
   * Takes its place in the order of operations at once; resolves when it is durable. `complete` makes the operation that is sent in its place, at
   * the moment when its transaction begins.
   */
  send<O extends Operation>(operation: O, complete: (() => O) | null = null): Promise<ResultOf<O>> {
    if (this.#broken !== null) return Promise.reject(new StoreFailure(this.#broken))
    return new Promise<ResultOf<O>>((resolve, reject) => {
      this.#waiting.push({ operation, complete, resolve, reject })
      this.#schedule(operation.kind === "create")
    })
  }

  /** After what is under way. */
  async close(): Promise<void> {
    if (this.#broken !== null) return
    if (this.#closing === null) {
      this.#closing = Promise.withResolvers()
      this.#worker.ref()
      this.#schedule()
    }
    await this.#closing.promise
  }

  /** `waits`: for what logs hand over in the next turn, so that a run and its first events are one transaction. */
  #schedule(waits = false): void {
    if (this.#scheduled || this.#sent !== null) return
    this.#scheduled = true
    const post = (): void => this.#post()
    setImmediate(waits ? () => setImmediate(post) : post)
  }

  #post(): void {
    this.#scheduled = false
    if (this.#broken !== null) return
    if (this.#waiting.length === 0) {
      if (this.#closing !== null) this.#worker.postMessage("close" satisfies ToWriterThread)
      return
    }
    const batch = this.#nextBatch()
    try {
      const packed = packBatch(batch.map(({ operation, complete }) => complete?.() ?? operation))
      this.#worker.postMessage(packed satisfies ToWriterThread, [packed.bytes.buffer])
      this.#worker.ref()
      this.#sent = batch
    } catch (error) {
      // Out of memory, or a bug: it must not take what comes later with it.
      for (const { reject } of batch) reject(new StoreFailure("Nothing could be handed to the store's writer", error))
      this.#schedule()
    }
  }

  #nextBatch(): Waiting[] {
    let count = 0
    let bytes = 0
    for (const { operation } of this.#waiting) {
      for (const blob of operation.blobs) bytes += blob?.length ?? 0
      if (count > 0 && (count >= batchOperations || bytes > batchBytes)) break
      count++
    }
    return this.#waiting.splice(0, count)
  }

  #receive(message: FromWriterThread): void {
    if (message === "closed") return this.#break("The store is closed")
    if (typeof message !== "object" || !("outcomes" in message)) return
    const batch = this.#sent ?? []
    this.#sent = null
    if (this.#closing === null) this.#worker.unref()
    const outcomes = unpackOutcomes(batch.length, message.outcomes)
    for (const [index, waiting] of batch.entries()) settle(waiting, outcomes[index])
    const failed = outcomes.some((outcome) => "failure" in outcome)
    if (failed) this.#storedAt = -Infinity
    else if (batch.some(({ operation }) => writes.has(operation.kind))) {
      this.#storedAt = performance.now()
      this.#failedLast = false
    }
    if (failed) this.#failedLast = true
    if (this.#waiting.length > 0 || this.#closing !== null) this.#schedule()
  }

  #break(reason: string): void {
    this.#broken ??= reason
    for (const { reject } of [...(this.#sent ?? []), ...this.#waiting]) reject(new StoreFailure(this.#broken))
    this.#sent = null
    this.#waiting = []
    this.#closing?.resolve()
  }
}

function settle(waiting: Waiting, outcome: Outcome | undefined): void {
  if (outcome === undefined) waiting.reject(new StoreFailure("The store's writer gave no answer"))
  else if ("failure" in outcome) waiting.reject(new StoreFailure(outcome.failure))
  // The outcome of an operation has the type that its kind says.
  else waiting.resolve(outcome.value as never)
}

/** Beside this file, in the sources as in the bundle. */
function threadFile(): URL {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js"
  return new URL(`./writer-thread.${extension}`, import.meta.url)
}
