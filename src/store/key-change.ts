import { StoreFailure } from "../ports/store.ts"
import type { KeyChange, KeyRecord, Vault } from "../ports/vault.ts"
import type { RewrapOperation } from "./operations.ts"
import type { SqlMedium } from "./sql-medium.ts"
import { all, get, type Steps } from "./sql.ts"
import { rewrapsOf } from "./under-old-key.ts"

/** Rows that one step looks at: a few milliseconds of the service's thread. */
const stepRows = 200

interface Place {
  readonly table: "runs" | "outbox"
  /** The key of the last row that was looked at. */
  readonly after: readonly [string | number, number]
}

/**
 * Moves a database from one master key to another. Only what the master key itself wrapped or sealed is rewritten: the keys of
 * runs, and what notices need. Cached answers are dropped. A step that was done is durable; after a crash the whole database
 * is looked at again, and what is under the new key by then is left alone.
 */
export class SqlKeyChange implements KeyChange {
  readonly #medium: SqlMedium
  readonly #vault: Vault
  readonly #record: KeyRecord
  #place: Place | null = null
  #left = 0

  constructor(medium: SqlMedium, vault: Vault, record: KeyRecord) {
    this.#medium = medium
    this.#vault = vault
    this.#record = record
  }

  async step(): Promise<{ readonly rewritten: number; readonly left: number }> {
    if (this.#place === null) {
      const dropped = await this.#medium.send({ kind: "forget cache", blobs: [] })
      if (dropped > 0) return { rewritten: 0, left: (await this.#medium.read(countAll())) + 1 }
      this.#left = (await this.#medium.read(countAll())) + 1
      this.#place = { table: "runs", after: [0, 0] }
    }
    const { operations, rows, next } = await this.#medium.read(this.#look(this.#place))
    await Promise.all(operations.map((operation) => this.#medium.send(operation)))
    this.#place = next
    if (next !== null) {
      this.#left = Math.max(1, this.#left - rows)
      return { rewritten: operations.length, left: this.#left }
    }
    const { mark, digest } = this.#record
    const refused = await this.#medium.send({ kind: "keys", blobs: [mark, mark, null, digest] })
    if (refused !== null) throw new StoreFailure(refused)
    return { rewritten: operations.length, left: 0 }
  }

  /** Runs before notices: a new notice copies the URL of its run. */
  *#look({ table, after }: Place): Steps<{ operations: RewrapOperation[]; rows: number; next: Place | null }> {
    const sql =
      table === "runs"
        ? "SELECT num, run_id, 0 AS event_id, caller, key, notify FROM runs WHERE num > ?1 AND ?2 = 0 ORDER BY num LIMIT ?3"
        : `SELECT run_id, event_id, url, last_error FROM outbox WHERE (run_id, event_id) > (?1, ?2)
           ORDER BY run_id, event_id LIMIT ?3`
    const rows = yield* all(sql, after[0], after[1], stepRows)
    const operations = rows.flatMap((row) => rewrapsOf(this.#vault, row))
    const last = rows.at(-1)
    if (last !== undefined) {
      const [run_id, event_id] = [last["run_id"] as string, last["event_id"] as number]
      const place = table === "runs" ? ([last["num"] as number, 0] as const) : ([run_id, event_id] as const)
      return { operations, rows: rows.length, next: { table, after: place } }
    }
    return { operations, rows: 0, next: table === "runs" ? { table: "outbox", after: ["", 0] } : null }
  }
}

function* countAll(): Steps<number> {
  return (yield* get("SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM outbox) AS n"))?.["n"] as number
}
