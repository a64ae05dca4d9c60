import { openWriter, type OpenedWriter, type WriterData } from "../../src/adapters/sqlite/open-writer.ts"
import { packBatch, packOutcomes, unpackBatch, unpackOutcomes } from "../../src/adapters/sqlite/packed-batch.ts"
import type { BatchWriter, SentOperation } from "../../src/store/commit-queue.ts"
import type { Outcome } from "../../src/store/writes.ts"

/** Does what SQLite's writer thread does, here: to start a thread takes longer than a history. Batches are packed as for a thread. */
export class WriterInPlace implements BatchWriter {
  readonly broken = null
  readonly warnings: readonly string[]
  readonly #opened: OpenedWriter

  constructor(data: WriterData) {
    this.#opened = openWriter(data)
    this.warnings = this.#opened.warnings
  }

  async write(batch: readonly SentOperation[]): Promise<readonly Outcome[]> {
    const operations = unpackBatch(packBatch(batch.map(({ operation }) => operation)))
    return unpackOutcomes(batch.length, packOutcomes(this.#opened.writer.commit(operations)))
  }

  async close(): Promise<void> {
    this.#opened.close()
  }
}
