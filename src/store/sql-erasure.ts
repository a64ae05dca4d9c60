import type { JsonValue } from "../base/json-value.ts"
import {
  soughtParts,
  type ErasedRun,
  type ErasureQuery,
  type ErasureSlice,
  type ErasureStore,
} from "../ports/erasure.ts"
import type { Deletion } from "../ports/store.ts"
import type { Vault } from "../ports/vault.ts"
import type { SqlMedium } from "./sql-medium.ts"
import { all, get, type Steps } from "./sql.ts"

/** Runs that one slice looks at: a read of it keeps nobody waiting. */
const slicedRuns = 2_000

/** Finds the runs of an erasure, and erases them. */
export class SqlErasure implements ErasureStore {
  readonly #medium: SqlMedium
  readonly #vault: Vault
  readonly erase: (run_id: string) => Promise<Deletion>

  constructor(medium: SqlMedium, vault: Vault, erase: (run_id: string) => Promise<Deletion>) {
    this.#medium = medium
    this.#vault = vault
    this.erase = erase
  }

  async digest(path: string, value: JsonValue): Promise<string> {
    return digestOfValue(this.#vault, path, value)
  }

  async newest(): Promise<number> {
    const row = await this.#medium.read(get("SELECT coalesce(max(num), 0) AS newest FROM runs"))
    return row?.["newest"] as number
  }

  async slice(query: ErasureQuery): Promise<ErasureSlice> {
    return this.#medium.read(readSlice(query))
  }

  async madeFrom(run_id: string): Promise<readonly string[]> {
    return this.#medium.read(readMadeFrom(run_id))
  }

  async erased(limit: number, after: string): Promise<readonly ErasedRun[]> {
    const rows = await this.#medium.read(
      all(
        "SELECT run_id, erased_at FROM tombstones WHERE erased_at IS NOT NULL AND run_id > ? ORDER BY run_id LIMIT ?",
        after,
        limit,
      ),
    )
    return rows.map((row) => ({ run_id: row["run_id"] as string, erased_at: row["erased_at"] as number }))
  }
}

export function digestOfValue(vault: Vault, path: string, value: JsonValue): string {
  return Buffer.from(vault.digest("value of an input", soughtParts(path, value))).toString("hex")
}

function* readSlice({ where, workflow, after, until }: ErasureQuery): Steps<ErasureSlice> {
  const end = yield* get(
    `SELECT coalesce(max(num), 0) AS num FROM (SELECT num FROM runs WHERE num > ? AND num <= ? ORDER BY num LIMIT ${slicedRuns}) AS slice`,
    after,
    until,
  )
  const last = end?.["num"] as number
  if (last === 0) return { runs: [], next: until }
  // A run without an entry was stored before its path was indexed.
  const known = where.map(() => "(SELECT value FROM run_values WHERE run = runs.num AND path = ?)")
  const fits = known.map((value) => `coalesce(${value} = ?, 1 = 1)`)
  const rows = yield* all(
    `SELECT run_id, num, ${known.map((value) => `${value} IS NOT NULL`).join(" AND ")} AS sure FROM runs
     WHERE num > ? AND num <= ?${workflow === null ? "" : " AND workflow = ?"} AND ${fits.join(" AND ")} ORDER BY num`,
    ...where.map(({ path }) => path),
    after,
    last,
    ...(workflow === null ? [] : [workflow]),
    ...where.flatMap(({ path, digest }) => [path, digest]),
  )
  return {
    runs: rows.map((row) => ({
      run_id: row["run_id"] as string,
      place: row["num"] as number,
      sure: Boolean(row["sure"]),
    })),
    next: last,
  }
}

function* readMadeFrom(run_id: string): Steps<readonly string[]> {
  const rows = yield* all("SELECT run_id FROM runs WHERE shadow_of = ?1 OR rerun_of = ?1 ORDER BY num", run_id)
  return rows.map((row) => row["run_id"] as string)
}
