import type { DatabaseSync } from "node:sqlite"
import { wallOf, type Clock } from "../../ports/clock.ts"
import { StoreFailure, type RunStore } from "../../ports/store.ts"
import type { MasterKey, Vault } from "../../ports/vault.ts"
import { ThreadWriter } from "./thread-writer.ts"
import { CommitQueue, type BatchWriter } from "../../store/commit-queue.ts"
import { SqlStore } from "../../store/sql-store.ts"
import { openForReading, otherKey, recordOf } from "./open-database.ts"
import type { WriterData } from "./open-writer.ts"
import { SqliteMedium } from "./sqlite-medium.ts"
import { untilClosed } from "../../ports/wrap-store.ts"

export interface SqliteStoreOptions {
  /** The database's file; made, with its directory, if it is not there. */
  readonly path: string
  readonly masterKey: MasterKey
  readonly clock: Clock
  /** The machine's time: that of `clock`, unless told otherwise. */
  readonly time?: () => Promise<number>
  /** How often to look for what other processes appended and asked for. */
  readonly pollMs?: number
  /** How long after its deletion something may still be found in the database's log file. */
  readonly residueMs?: number
  /** Hears of what was missing or damaged when the database was opened: a sentence for the operator each. */
  readonly warn?: (sentence: string) => void
  /** How long `lookup` remembers a run that retention deleted. */
  readonly tombstoneMs?: number
  /** Paths of inputs by whose values runs can be found to be erased. */
  readonly erasePaths?: readonly string[]
  /** Opens the database for writing: in a thread of its own, unless told otherwise. */
  readonly openWriter?: (data: WriterData) => Promise<BatchWriter & { readonly warnings: readonly string[] }>
}

/** Opens the store, or makes it. Rejects with a `StoreFailure` that says what to do, and leaves what it refuses untouched. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<RunStore> {
  const { path, masterKey, clock, openWriter = (data) => ThreadWriter.open(data) } = options
  const record = masterKey.newRecord()
  const writer = await openWriter({ path, record, residueMs: options.residueMs ?? 5_000 })
  for (const sentence of writer.warnings) options.warn?.(sentence)
  const queue = new CommitQueue(writer)
  const database = openForReading(path)
  const vault = await unlock(path, database, queue, masterKey)
  const time = options.time ?? (async () => wallOf(clock))
  const store = new SqlStore(new SqliteMedium(queue, database, path, time), vault, clock, {
    pollMs: options.pollMs ?? 200,
    thoroughEvery: 10,
    tombstoneMs: options.tombstoneMs ?? 30 * 24 * 3_600_000,
    erasePaths: options.erasePaths ?? [],
  })
  return untilClosed(store)
}

async function unlock(path: string, database: DatabaseSync, queue: CommitQueue, masterKey: MasterKey): Promise<Vault> {
  try {
    const record = recordOf(database)
    const vault = record === null ? null : masterKey.unlock(record)
    if (vault === null) throw new StoreFailure(otherKey(path))
    return vault
  } catch (error) {
    database.close()
    await queue.close()
    throw error
  }
}
