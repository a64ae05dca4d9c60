import type { DatabaseSync } from "node:sqlite"
import { StoreFailure } from "../../ports/store.ts"
import type { KeyChange, KeyRecord, Vault } from "../../ports/vault.ts"
import type { CommitQueue } from "./commit-queue.ts"
import { aboutRun } from "./log-reader.ts"
import type { RewrapOperation } from "./operations.ts"
import { aboutError, aboutUrl } from "./outbox-reader.ts"
import { readNumber } from "./schema.ts"
import { failureOf } from "./sqlite-error.ts"

/** Rows that one step looks at: a few milliseconds of the service's thread. */
const stepRows = 200

interface Place {
  readonly table: "runs" | "outbox"
  /** Of the last row that was looked at. */
  readonly after: readonly [string | number, number]
}

/**
 * Moves a database from one master key to another. Only what the master key itself wrapped or sealed is rewritten: the keys of
 * runs, and what notices need. Cached answers are dropped. A step that was done is durable; after a crash the whole database
 * is looked at again, and what is under the new key by then is left alone.
 */
export class SqliteKeyChange implements KeyChange {
  readonly #database: DatabaseSync
  readonly #path: string
  readonly #queue: CommitQueue
  readonly #vault: Vault
  readonly #record: KeyRecord
  #place: Place | null = null
  #left = 0

  /** `database` is a connection that reads. */
  constructor(database: DatabaseSync, path: string, queue: CommitQueue, vault: Vault, record: KeyRecord) {
    this.#database = database
    this.#path = path
    this.#queue = queue
    this.#vault = vault
    this.#record = record
  }

  async step(): Promise<{ readonly rewritten: number; readonly left: number }> {
    if (this.#place === null) {
      const dropped = await this.#queue.send({ kind: "forget cache", blobs: [] })
      if (dropped > 0) return { rewritten: 0, left: this.#count() + 1 }
      this.#left = this.#count() + 1
      this.#place = { table: "runs", after: [0, 0] }
    }
    const { operations, rows, next } = this.#look(this.#place)
    await Promise.all(operations.map((operation) => this.#queue.send(operation)))
    this.#place = next
    if (next !== null) {
      this.#left = Math.max(1, this.#left - rows)
      return { rewritten: operations.length, left: this.#left }
    }
    const { mark, digest } = this.#record
    const refused = await this.#queue.send({ kind: "keys", blobs: [mark, mark, null, digest] })
    if (refused !== null) throw new StoreFailure(refused)
    return { rewritten: operations.length, left: 0 }
  }

  #count(): number {
    return this.#guard(() =>
      readNumber(this.#database, "SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM outbox)"),
    )
  }

  /** Runs before notices: a new notice copies the URL of its run. */
  #look({ table, after }: Place): { operations: RewrapOperation[]; rows: number; next: Place | null } {
    const sql =
      table === "runs"
        ? "SELECT num, run_id, 0 AS event_id, key, notify FROM runs WHERE num > ?1 AND ?2 = 0 ORDER BY num LIMIT ?3"
        : `SELECT run_id, event_id, url, last_error FROM outbox WHERE (run_id, event_id) > (?1, ?2)
           ORDER BY run_id, event_id LIMIT ?3`
    const rows = this.#guard(() => this.#database.prepare(sql).all(after[0], after[1], stepRows))
    const operations = rows.flatMap((row) => rewrapsOf(this.#vault, row))
    const last = rows.at(-1)
    if (last !== undefined) {
      const [run_id, event_id] = [last["run_id"] as string, last["event_id"] as number]
      const place = table === "runs" ? ([last["num"] as number, 0] as const) : ([run_id, event_id] as const)
      return { operations, rows: rows.length, next: { table, after: place } }
    }
    return { operations, rows: 0, next: table === "runs" ? { table: "outbox", after: ["", 0] } : null }
  }

  #guard<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw failureOf(this.#path, error)
    }
  }
}

/** How many runs and notices need another key than the one that writes. */
export function countUnderOldKey(database: DatabaseSync, vault: Vault): number {
  const runs = database.prepare("SELECT run_id, 0 AS event_id, key, notify FROM runs").iterate()
  const notices = database.prepare("SELECT run_id, event_id, url, last_error FROM outbox").iterate()
  let count = 0
  for (const row of runs) if (rewrapsOf(vault, row).length > 0) count++
  for (const row of notices) if (rewrapsOf(vault, row).length > 0) count++
  return count
}

function rewrapsOf(vault: Vault, row: Readonly<Record<string, unknown>>): RewrapOperation[] {
  const [run_id, event_id] = [row["run_id"] as string, row["event_id"] as number]
  const rewritten = (
    what: RewrapOperation["what"],
    before: unknown,
    again: (before: Uint8Array) => Uint8Array | null,
  ): RewrapOperation[] => {
    const after = before instanceof Uint8Array ? again(before) : null
    return after === null || !(before instanceof Uint8Array)
      ? []
      : [{ kind: "rewrap", what, run_id, event_id, blobs: [before, after] }]
  }
  const url = aboutUrl(run_id)
  return [
    ...rewritten("run key", row["key"], (before) => vault.rewrap(aboutRun(run_id), before)),
    ...rewritten("run url", row["notify"], (before) => vault.reseal(url, before)),
    ...rewritten("notice url", row["url"], (before) => vault.reseal(url, before)),
    ...rewritten("notice error", row["last_error"], (before) => vault.reseal(aboutError(run_id, event_id), before)),
  ]
}
