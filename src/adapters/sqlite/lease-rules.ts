import type { ClaimOperation } from "../../store/operations.ts"
import type { LeaseRules } from "../../store/lease-writer.ts"
import { all, run, type Row, type Steps } from "../../store/sql.ts"
import { isAlive } from "./holder.ts"

/** No lease lasts longer: one that seems to was taken before the machine, and with it the monotonic clock, started again. */
const longestLeaseMs = 3_600_000

/** All processes are on one machine: leases go by its monotonic clock, and those of a process that died end at once. */
export class SqliteLeaseRules implements LeaseRules {
  readonly holder: string
  readonly #path: string

  constructor(path: string, holder: string) {
    this.holder = holder
    this.#path = path
  }

  *lapsed({ now }: ClaimOperation, limit: number): Steps<readonly Row[]> {
    yield* this.#freeLeasesOfTheDead(now)
    return yield* all(
      `SELECT num, run_id, fence, owner FROM runs INDEXED BY runs_claimable
       WHERE finished_at IS NULL AND waiting = 0 AND woken_at IS NULL
       AND (lease_until <= ? OR lease_until >= ?) ORDER BY num LIMIT ?`,
      now,
      now + longestLeaseMs,
      limit,
    )
  }

  *#freeLeasesOfTheDead(now: number): Steps<void> {
    const holders = yield* all(
      "SELECT DISTINCT holder FROM runs WHERE finished_at IS NULL AND waiting = 0 AND lease_until > ? AND holder <> ?",
      now,
      this.holder,
    )
    for (const { holder } of holders) {
      if (isAlive(this.#path, holder as string)) continue
      yield* run(
        "UPDATE runs SET lease_until = 0 WHERE finished_at IS NULL AND waiting = 0 AND holder = ?",
        holder as string,
      )
    }
  }
}
