import { noUsage } from "../log/usage.ts"
import type { Usage } from "../log/events.ts"
import { endedRun, statsMs } from "../ports/run-stats.ts"
import { run, type Row, type Steps } from "./sql.ts"

/** Counts a run in the step that ends it. `ended`: its time of creation, and its usage. */
export function* countEnded(num: number, finished_at: number, ended: Row): Steps<void> {
  const written = ended["usage"] as string | null
  const usage = written === null ? noUsage : (JSON.parse(written) as Usage)
  const { duration, tokens, cost } = endedRun({ created_at: ended["created_at"] as number, finished_at, usage })
  yield* run(
    `INSERT INTO ended_runs (num, until, caller, workflow, version, release, origin, outcome, error_kind, duration, tokens, cost)
     SELECT num, created_at + ?2, caller, workflow, version, release, origin, outcome, error_kind, ?3, ?4, ?5 FROM runs WHERE num = ?1`,
    num,
    statsMs,
    duration,
    tokens,
    cost,
  )
}
