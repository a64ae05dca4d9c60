import type { ClaimOperation } from "../../store/operations.ts"
import type { LeaseRules } from "../../store/lease-writer.ts"
import { all, type Row, type Steps } from "../../store/sql.ts"

/** A process whose session has been gone for so long has died; a living one connects again sooner. */
const goneMs = 2_000

interface Seen {
  /** What a renewal or another owner changes. */
  readonly sign: string
  readonly since: number
}

/**
 * Processes are on many machines, so that no clocks are compared, not even with that of the server. A claimant watches each lease with its own
 * monotonic clock: one that nobody renewed for as long as it lasts has run out. Each process holds a lock of the server for as long as it is
 * connected, which tells sooner that it died. If a claimant is wrong, the fence stops the owner before.
 */
export class PostgresLeaseRules implements LeaseRules {
  readonly holder: string
  readonly #lockClass: number
  readonly #seen = new Map<number, Seen>()
  /** Holders that were not connected, since when. */
  readonly #gone = new Map<string, number>()

  constructor(holder: number, lockClass: number) {
    this.holder = String(holder)
    this.#lockClass = lockClass
  }

  /** While the server was out of reach nobody could renew a lease: give all of them time. */
  startAnew(): void {
    this.#seen.clear()
    this.#gone.clear()
  }

  *lapsed({ now, lease_until }: ClaimOperation, limit: number): Steps<readonly Row[]> {
    const leaseMs = lease_until - now
    const rows = yield* all(
      `SELECT num, run_id, fence, owner, holder, lease_until FROM runs
       WHERE finished_at IS NULL AND waiting = 0 AND woken_at IS NULL ORDER BY num`,
    )
    this.#watch(yield* connected(this.#lockClass), rows, now)
    const lapsed = rows.filter((row) => row["owner"] === null || this.#isSilent(row, now, leaseMs))
    return lapsed.slice(0, limit)
  }

  #watch(there: ReadonlySet<string>, rows: readonly Row[], now: number): void {
    const open = new Set(rows.map(({ num }) => num as number))
    for (const num of this.#seen.keys()) if (!open.has(num)) this.#seen.delete(num)
    for (const row of rows) {
      const sign = `${String(row["fence"])} ${String(row["lease_until"])}`
      if (this.#seen.get(row["num"] as number)?.sign !== sign)
        this.#seen.set(row["num"] as number, { sign, since: now })
    }
    const holders = new Set(rows.map(({ holder }) => holder as string | null))
    for (const holder of this.#gone.keys()) if (there.has(holder) || !holders.has(holder)) this.#gone.delete(holder)
    for (const holder of holders) {
      if (holder !== null && !there.has(holder) && !this.#gone.has(holder)) this.#gone.set(holder, now)
    }
  }

  #isSilent(row: Row, now: number, leaseMs: number): boolean {
    const { since } = this.#seen.get(row["num"] as number) ?? { since: now }
    if (now - since >= leaseMs) return true
    const gone = this.#gone.get(row["holder"] as string)
    return gone !== undefined && now - gone >= goneMs && now - since >= goneMs
  }
}

/** Processes that are connected, by their numbers. */
function* connected(lockClass: number): Steps<ReadonlySet<string>> {
  const rows = yield* all(
    `SELECT DISTINCT objid AS holder FROM pg_locks WHERE locktype = 'advisory' AND classid = ${lockClass}
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND granted`,
  )
  return new Set(rows.map(({ holder }) => String(holder)))
}

export function* countProcesses(lockClass: number): Steps<number> {
  return (yield* connected(lockClass)).size
}
