import type { ClaimedLease } from "../ports/store.ts"
import type { ClaimOperation, ClaimParkedOperation, ReleaseOperation, RenewOperation } from "./operations.ts"
import { all, get, run, type Row, type Steps } from "./sql.ts"

/** How a database tells whose lease has run out. */
export interface LeaseRules {
  /** Names this process in the rows of the runs that it works on. */
  readonly holder: string
  /** Unfinished runs that do not wait and were not woken, and whose lease has run out, the oldest first: `num`, `run_id`, `fence`, `owner`. */
  lapsed(operation: ClaimOperation, limit: number): Steps<readonly Row[]>
}

export function* claim(rules: LeaseRules, operation: ClaimOperation): Steps<Omit<ClaimedLease, "owner">[]> {
  const { owner, limit, lease_until } = operation
  if (limit <= 0) return []
  const woken = yield* all(
    "SELECT num, run_id, fence, owner FROM runs INDEXED BY runs_woken WHERE woken_at IS NOT NULL ORDER BY woken_at, num LIMIT ?",
    limit,
  )
  const lapsed = yield* rules.lapsed(operation, limit - woken.length)
  const claimed: Omit<ClaimedLease, "owner">[] = []
  for (const row of [...woken, ...lapsed]) {
    const fence = (row["fence"] as number) + 1
    yield* run(
      "UPDATE runs SET fence = ?, owner = ?, holder = ?, lease_until = ?, woken_at = NULL WHERE num = ?",
      fence,
      owner,
      rules.holder,
      lease_until,
      row["num"] as number,
    )
    const given_back = row["owner"] === null
    claimed.push({ run_id: row["run_id"] as string, fence, given_back, woken: claimed.length < woken.length })
  }
  return claimed
}

/** The fence of the lease; null where the run is not parked, or is to be cancelled. */
export function* claimParked(
  rules: LeaseRules,
  { run_id, owner, lease_until }: ClaimParkedOperation,
): Steps<number | null> {
  const row = yield* get(
    "SELECT num, fence FROM runs WHERE run_id = ? AND waiting = 1 AND cancel_requested = 0",
    run_id,
  )
  if (row === undefined) return null
  const fence = (row["fence"] as number) + 1
  yield* run(
    "UPDATE runs SET fence = ?, owner = ?, holder = ?, lease_until = ?, waiting = 0, woken_at = NULL WHERE num = ?",
    fence,
    owner,
    rules.holder,
    lease_until,
    row["num"] as number,
  )
  return fence
}

/** Whether the lease still held. */
export function* renew({ run_id, fence, lease_until }: RenewOperation): Steps<boolean> {
  const changes = yield* run(
    "UPDATE runs SET lease_until = ? WHERE run_id = ? AND fence = ? AND finished_at IS NULL",
    lease_until,
    run_id,
    fence,
  )
  return changes > 0
}

export function* release({ run_id, fence }: ReleaseOperation): Steps<null> {
  yield* run(
    `UPDATE runs SET fence = fence + 1, owner = NULL, holder = NULL, lease_until = 0
     WHERE run_id = ? AND fence = ? AND finished_at IS NULL`,
    run_id,
    fence,
  )
  return null
}
