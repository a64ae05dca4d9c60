import type { ClaimedLease } from "../../ports/store.ts"
import { isAlive } from "./holder.ts"
import type { ClaimOperation, ReleaseOperation, RenewOperation } from "./operations.ts"
import type { Sql } from "./sql.ts"

/** No lease lasts longer: one that seems to was taken before the machine, and with it the monotonic clock, started again. */
const longestLeaseMs = 3_600_000

/** The process that takes leases, and the database that it takes them in. */
interface LeaseHolder {
  readonly path: string
  readonly holder: string
}

export function claim(
  sql: Sql,
  { path, holder }: LeaseHolder,
  { owner, limit, now, lease_until }: ClaimOperation,
): Omit<ClaimedLease, "owner">[] {
  if (limit <= 0) return []
  freeLeasesOfTheDead(sql, path, holder, now)
  const woken = sql.all(
    "SELECT num, run_id, fence, owner FROM runs INDEXED BY runs_woken WHERE woken_at IS NOT NULL ORDER BY woken_at LIMIT ?",
    limit,
  )
  const lapsed = sql.all(
    `SELECT num, run_id, fence, owner FROM runs INDEXED BY runs_claimable
     WHERE finished_at IS NULL AND waiting = 0 AND woken_at IS NULL
     AND (lease_until <= ? OR lease_until >= ?) ORDER BY num LIMIT ?`,
    now,
    now + longestLeaseMs,
    limit - woken.length,
  )
  return [...woken, ...lapsed].map((row, index) => {
    const fence = (row["fence"] as number) + 1
    sql.run(
      "UPDATE runs SET fence = ?, owner = ?, holder = ?, lease_until = ?, woken_at = NULL WHERE num = ?",
      fence,
      owner,
      holder,
      lease_until,
      row["num"] as number,
    )
    const given_back = row["owner"] === null
    return { run_id: row["run_id"] as string, fence, given_back, woken: index < woken.length }
  })
}

/** Leases of processes on this machine that have died end at once. */
function freeLeasesOfTheDead(sql: Sql, path: string, own: string, now: number): void {
  const holders = sql.all(
    "SELECT DISTINCT holder FROM runs WHERE finished_at IS NULL AND waiting = 0 AND lease_until > ? AND holder <> ?",
    now,
    own,
  )
  for (const { holder } of holders) {
    if (isAlive(path, holder as string)) continue
    sql.run(
      "UPDATE runs SET lease_until = 0 WHERE finished_at IS NULL AND waiting = 0 AND holder = ?",
      holder as string,
    )
  }
}

export function renew(sql: Sql, { run_id, fence, lease_until }: RenewOperation): boolean {
  const { changes } = sql.run(
    "UPDATE runs SET lease_until = ? WHERE run_id = ? AND fence = ? AND finished_at IS NULL",
    lease_until,
    run_id,
    fence,
  )
  return changes > 0
}

export function release(sql: Sql, { run_id, fence }: ReleaseOperation): null {
  sql.run(
    `UPDATE runs SET fence = fence + 1, owner = NULL, holder = NULL, lease_until = 0
     WHERE run_id = ? AND fence = ? AND finished_at IS NULL`,
    run_id,
    fence,
  )
  return null
}
