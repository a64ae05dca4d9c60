import type { DatabaseSync } from "node:sqlite"
import type { Clock } from "../../ports/clock.ts"
import { StoreFailure, type RunStore } from "../../ports/store.ts"
import type { KeyChange, KeyRecord, Vault } from "../../ports/vault.ts"
import { ThreadWriter } from "./thread-writer.ts"
import { CommitQueue } from "../../store/commit-queue.ts"
import { SqlKeyChange } from "../../store/key-change.ts"
import { SqlStore } from "../../store/sql-store.ts"
import { openForReading, readKeyRecord } from "./open-database.ts"
import { SqliteMedium } from "./sqlite-medium.ts"
import { untilClosed } from "../../ports/wrap-store.ts"

export interface SqliteStoreOptions {
  /** The database's file; made, with its directory, if it is not there. */
  readonly path: string
  readonly vault: Vault
  readonly clock: Clock
  /** How often to look for what other processes appended and asked for. */
  readonly pollMs?: number
  /** How long after its deletion something may still be found in the database's log file. */
  readonly residueMs?: number
  /** Hears of what was missing or damaged when the database was opened: a sentence for the operator each. */
  readonly warn?: (sentence: string) => void
  /** How long `lookup` remembers a run that retention deleted. */
  readonly tombstoneMs?: number
}

/** A store whose master key may be changing. */
export interface RekeyedStore extends RunStore {
  /** Null when nothing needs another key than the one that writes. */
  readonly keyChange: KeyChange | null
}

/** Opens the store, or makes it. Rejects with a `StoreFailure` that says what to do, and leaves what it refuses untouched. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<RekeyedStore> {
  const { path, vault, clock } = options
  const writer = await ThreadWriter.open({ path, marks: vault.marks, residueMs: options.residueMs ?? 5_000 })
  for (const sentence of writer.warnings) options.warn?.(sentence)
  const queue = new CommitQueue(writer)
  const database = openForReading(path)
  const record = await agreeOnKeys(database, queue, vault)
  const medium = new SqliteMedium(queue, database, path)
  const keyChange = record.old === null ? null : new SqlKeyChange(medium, vault, record)
  const store = new SqlStore(medium, vault, clock, {
    pollMs: options.pollMs ?? 200,
    thoroughEvery: 10,
    tombstoneMs: options.tombstoneMs ?? 30 * 24 * 3_600_000,
  })
  return { ...untilClosed(store), keyChange }
}

/** Stores the record of keys before anything is written with a new one. */
async function agreeOnKeys(database: DatabaseSync, queue: CommitQueue, vault: Vault): Promise<KeyRecord> {
  try {
    const stored = readKeyRecord(database)
    const record = vault.agree(stored, "begin")
    if (stored === null || record === stored) return record
    const { mark, old, digest } = record
    const refused = await queue.send({ kind: "keys", blobs: [stored.mark, mark, old, digest] })
    if (refused !== null) throw new StoreFailure(refused)
    return record
  } catch (error) {
    database.close()
    await queue.close()
    throw error
  }
}
