import { StoreBroken, StoreFailure } from "../ports/store.ts"
import type { News, Sending } from "./sql-medium.ts"
import type { Operation, Outcome, ResultOf } from "./writes.ts"

/** More than this goes into the next transaction, so that no commit takes long. */
const batchOperations = 1_000
const batchBytes = 16 * 1024 * 1024
const provenMs = 5_000
/** The others may have had nothing to write: a claim that finds no run proves nothing. */
const writes: ReadonlySet<Operation["kind"]> = new Set<Operation["kind"]>([
  "create",
  "append",
  "failAsCorrupt",
  "probe",
])

/** What a medium does with a batch: one transaction, unless an operation fails, which leaves nothing behind and does not harm the others. */
export interface BatchWriter {
  /** Resolves when all is durable, to an outcome for each. Rejects where none of them could be stored. */
  write(batch: readonly SentOperation[]): Promise<readonly Outcome[]>
  /** Why nothing can be written any more. */
  readonly broken: string | null
  close(): Promise<void>
}

export interface SentOperation {
  readonly operation: Operation
  readonly news: News | null
}

interface Waiting {
  readonly operation: Operation
  readonly sending: Sending<Operation>
  readonly resolve: (value: never) => void
  readonly reject: (reason: Error) => void
}

/** Group commit: what one turn of the event loop asks for, and whatever comes while the transaction before is under way, is one batch. */
export class CommitQueue {
  readonly #writer: BatchWriter
  #waiting: Waiting[] = []
  /** A batch is under way, or about to be sent. */
  #isBusy = false
  #closing: PromiseWithResolvers<void> | null = null
  #isClosed = false
  /** When something was stored last; minus infinity when the last thing could not be. */
  #storedAt = -Infinity
  #failedLast = false

  constructor(writer: BatchWriter) {
    this.#writer = writer
  }

  /** Whether there is recent proof that the store can be written to. */
  get storedLately(): boolean {
    return this.#writer.broken === null && performance.now() - this.#storedAt < provenMs
  }

  /** The last thing that was to be stored could not be. */
  get failedLast(): boolean {
    return this.#failedLast
  }

  /** Takes its place in the order of operations at once; resolves when it is durable. */
  send<O extends Operation>(operation: O, sending: Sending<O> = {}): Promise<ResultOf<O>> {
    const { broken } = this.#writer
    if (broken !== null) return Promise.reject(new StoreBroken(broken))
    if (this.#isClosed) return Promise.reject(new StoreFailure("The store is closed"))
    return new Promise<ResultOf<O>>((resolve, reject) => {
      this.#waiting.push({ operation, sending, resolve, reject })
      this.#schedule(operation.kind === "create")
    })
  }

  /** After what is under way. */
  async close(): Promise<void> {
    this.#closing ??= Promise.withResolvers()
    this.#schedule()
    await this.#closing.promise
  }

  /** `waits`: for what logs hand over in the next turn, so that a run and its first events are one transaction. */
  #schedule(waits = false): void {
    if (this.#isBusy) return
    this.#isBusy = true
    const begin = (): void => void this.#work()
    setImmediate(waits ? () => setImmediate(begin) : begin)
  }

  async #work(): Promise<void> {
    if (this.#waiting.length > 0) await this.#store(this.#nextBatch())
    this.#isBusy = false
    if (this.#waiting.length > 0) return this.#schedule()
    if (this.#closing === null || this.#isClosed) return this.#closing?.resolve()
    this.#isClosed = true
    await this.#writer.close()
    this.#closing.resolve()
  }

  async #store(batch: readonly Waiting[]): Promise<void> {
    let outcomes: readonly Outcome[]
    try {
      outcomes = await this.#writer.write(
        batch.map(({ operation, sending: { complete, news } }) => ({
          operation: complete?.() ?? operation,
          news: news ?? null,
        })),
      )
    } catch (error) {
      // Out of memory, or a bug: it must not take what comes later with it.
      const failure =
        error instanceof StoreFailure ? error : new StoreFailure("Nothing could be handed to the store", error)
      for (const { reject } of batch) reject(failure)
      this.#storedAt = -Infinity
      this.#failedLast = true
      return
    }
    for (const [index, waiting] of batch.entries()) settle(waiting, outcomes[index])
    if (outcomes.some((outcome) => "failure" in outcome)) {
      this.#storedAt = -Infinity
      this.#failedLast = true
    } else if (batch.some(({ operation }) => writes.has(operation.kind))) {
      this.#storedAt = performance.now()
      this.#failedLast = false
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
}

function settle({ resolve, reject }: Waiting, outcome: Outcome | undefined): void {
  if (outcome === undefined) reject(new StoreFailure("The store gave no answer"))
  else if ("failure" in outcome) reject(new StoreFailure(outcome.failure))
  // The outcome of an operation has the type that its kind says.
  else resolve(outcome.value as never)
}
