import { Damaged } from "../ports/store.ts"
import type { Vault } from "../ports/vault.ts"
import {
  isAskedFor,
  noneOpen,
  openStatusOf,
  type Wait,
  type WaitCounts,
  type WaitFilter,
  type WaitKind,
  type WaitOutcome,
  type WaitQuery,
  type WaitStatus,
} from "../ports/waits.ts"
import type { LogReader, RunHead } from "./log-reader.ts"
import { openOutcome, openWait, waitKeyDigest } from "./sealed-waits.ts"
import { all, get, type Row, type SqlValue, type Steps } from "./sql.ts"
import { waitStatus } from "./wait-writer.ts"

const columns = "waits.num, run_id, id, kind, status, due_at, settled_at, body, waits.outcome AS outcome"
const joined = "FROM waits JOIN runs ON runs.num = waits.run"
const fromWaits = `SELECT ${columns} ${joined}`
/** Reads no content, however large. */
const sizes = `SELECT waits.num, length(body) + coalesce(length(waits.outcome), 0) AS bytes ${joined}`
const statuses: readonly WaitStatus[] = ["open", "settled", "due", "withdrawn"]

/** Woken runs that one look finds at most. */
const mostWoken = 100

/** A wait that has not been read. */
export interface StoredWait {
  readonly num: number
  /** Bytes of the wait and its outcome, sealed. */
  readonly bytes: number
}

/** Reads waits, and opens them. */
export class WaitReader {
  readonly #vault: Vault
  readonly #log: LogReader

  constructor(vault: Vault, log: LogReader) {
    this.#vault = vault
    this.#log = log
  }

  *ofRun(run_id: string, kind: WaitKind, limit: number, after: number): Steps<StoredWait[]> {
    const sql = `${sizes} WHERE run_id = ? AND kind = ? AND waits.num > ? ORDER BY waits.num LIMIT ?`
    return yield* sizesOf(sql, run_id, kind, after, limit)
  }

  *one<K extends WaitKind>(run_id: string, kind: K, id: string, now: number): Steps<Wait<K> | null> {
    const row = yield* get(`${fromWaits} WHERE run_id = ? AND id = ? AND kind = ?`, run_id, id, kind)
    return yield* this.#opened(row, now)
  }

  /** Null: retention was faster. */
  *read<K extends WaitKind>(num: number, now: number): Steps<Wait<K> | null> {
    return yield* this.#opened(yield* get(`${fromWaits} WHERE waits.num = ?`, num), now)
  }

  /** The waits with an outcome that the log does not show. */
  *outcomes(run_id: string): Steps<StoredWait[]> {
    return yield* sizesOf(`${sizes} WHERE run_id = ? AND status <> 0 AND taken = 0 ORDER BY waits.num`, run_id)
  }

  *outcome(num: number): Steps<WaitOutcome | null> {
    const row = yield* get(`SELECT run_id, id, kind, status, waits.outcome ${joined} WHERE waits.num = ?`, num)
    const head = row === undefined ? undefined : yield* this.#log.head(row["run_id"] as string)
    if (row === undefined || head === undefined) return null
    const [kind, id, status] = [row["kind"] as WaitKind, row["id"] as string, storedStatus(row)]
    return status === "open" ? null : { kind, id, status, outcome: outcomeIn(head, row) }
  }

  *list<K extends WaitKind>(query: WaitQuery<K>, now: number, after: number): Steps<StoredWait[]> {
    const found: StoredWait[] = []
    for (const filter of query.any) found.push(...(yield* this.#fitting(filter, query, now, after)))
    return found.toSorted((a, b) => a.num - b.num)
  }

  /** Each filter is read along one index: the waits of a key, or those of a caller's runs. */
  *#fitting(filter: WaitFilter, query: WaitQuery, now: number, after: number): Steps<StoredWait[]> {
    const { kind, status, limit } = query
    const digest = (key: string): Uint8Array => waitKeyDigest(this.#vault, kind, key)
    const parts: string[] = []
    const values: SqlValue[] = []
    if (filter.caller !== undefined) {
      parts.push("waits.caller = ? AND kind = ?")
      values.push(filter.caller, kind)
      const { butKeys = [] } = filter
      if (butKeys.length > 0)
        parts.push(`(waits.key IS NULL OR waits.key NOT IN (${butKeys.map(() => "?").join(", ")}))`)
      values.push(...butKeys.map(digest))
    }
    if (filter.key !== undefined) {
      parts.push("waits.key = ?")
      values.push(digest(filter.key))
    }
    const rows = (code: number, time: string, ...times: number[]): Steps<StoredWait[]> =>
      sizesOf(
        `${sizes} WHERE ${parts.join(" AND ")} AND status = ${code} AND waits.num > ? ${time} ORDER BY waits.num LIMIT ?`,
        ...values,
        after,
        ...times,
        limit + 1,
      )
    const { open, due } = waitStatus
    if (status === "open") return yield* rows(open, "AND due_at > ?", now)
    if (status === "due") return [...(yield* rows(due, "")), ...(yield* rows(open, "AND due_at <= ?", now))]
    return yield* rows(waitStatus[status], "")
  }

  *nextDue(): Steps<number | null> {
    const row = yield* get("SELECT due_at FROM waits WHERE status = 0 ORDER BY due_at LIMIT 1")
    return (row?.["due_at"] as number | undefined) ?? null
  }

  /** The earliest due time of an open wait has come. */
  *isDue(now: number): Steps<boolean> {
    return (yield* get("SELECT 1 AS due FROM waits WHERE status = 0 AND due_at <= ? LIMIT 1", now)) !== undefined
  }

  /**
   * Runs that a process holds, with an outcome that it has not taken in yet, and some of those that were woken: whoever claims one looks for more. Looked for
   * again and again, also while a hundred thousand runs that have been woken wait for their turn, so the indexes are named.
   */
  *newsOfRuns(): Steps<string[]> {
    const rows = yield* all(
      `SELECT run_id FROM runs INDEXED BY runs_claimable WHERE finished_at IS NULL AND waiting = 0 AND lease_until > 0
         AND EXISTS (SELECT 1 FROM waits WHERE run = runs.num AND status <> 0 AND taken = 0)
       UNION ALL SELECT run_id FROM
         (SELECT run_id FROM runs INDEXED BY runs_woken WHERE woken_at IS NOT NULL ORDER BY woken_at LIMIT ${mostWoken}) AS woken`,
    )
    return [...new Set(rows.map(({ run_id }) => run_id as string))]
  }

  *parked(caller: string): Steps<number> {
    const row = yield* get("SELECT count(*) AS waiting FROM runs WHERE caller = ? AND waiting = 1", caller)
    return row?.["waiting"] as number
  }

  *counts(): Steps<WaitCounts> {
    const parked = yield* get("SELECT count(*) AS runs FROM runs INDEXED BY runs_waiting WHERE waiting = 1")
    const open = noneOpen()
    for (const { kind, count, oldest_at } of yield* all(
      "SELECT kind, count(*) AS count, min(opened_at) AS oldest_at FROM waits INDEXED BY waits_open WHERE status = 0 GROUP BY kind",
    )) {
      open[kind as WaitKind] = { count: count as number, oldest_at: oldest_at as number }
    }
    return { runs: parked?.["runs"] as number, open }
  }

  /** Null where it was put into this list in the database: its run's key and the sealed wait say whose it is. */
  *listed<K extends WaitKind>(num: number, query: WaitQuery<K>, now: number): Steps<Wait<K> | null> {
    try {
      const wait: Wait<K> | null = yield* this.read<K>(num, now)
      const caller = wait === null ? undefined : (yield* this.#log.head(wait.run_id))?.caller
      return wait !== null && caller !== undefined && isAskedFor(query, caller, wait) ? wait : null
    } catch (error) {
      // Damage is reported to the reader of that run.
      if (error instanceof Damaged) return null
      throw error
    }
  }

  *#opened<K extends WaitKind>(row: Row | undefined, now: number): Steps<Wait<K> | null> {
    const head = row === undefined ? undefined : yield* this.#log.head(row["run_id"] as string)
    // Retention was faster.
    if (row === undefined || head === undefined) return null
    const [kind, id, stored] = [row["kind"] as K, row["id"] as string, storedStatus(row)]
    return {
      kind,
      run_id: head.run_id,
      id,
      status: stored === "open" ? openStatusOf(row["due_at"] as number, now) : stored,
      about: openWait(head.key, kind, id, row["body"] as Uint8Array),
      outcome: outcomeIn(head, row),
      settled_at: row["settled_at"] as number | null,
    }
  }
}

function storedStatus(row: Row): WaitStatus {
  return statuses[row["status"] as number] ?? "open"
}

function outcomeIn({ key }: RunHead, row: Row): WaitOutcome["outcome"] {
  const sealed = row["outcome"]
  return sealed === null ? null : openOutcome(key, row["kind"] as WaitKind, row["id"] as string, sealed as Uint8Array)
}

function* sizesOf(sql: string, ...values: SqlValue[]): Steps<StoredWait[]> {
  return (yield* all(sql, ...values)).map(({ num, bytes }) => ({ num: num as number, bytes: bytes as number }))
}
