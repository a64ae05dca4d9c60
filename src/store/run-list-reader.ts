import type { ErrorKind, RunTrigger, Usage } from "../log/events.ts"
import { noUsage, showUsage } from "../log/usage.ts"
import { comesAfter, openStatus, type ListedRun, type ListedStatus, type RunQuery } from "../ports/run-list.ts"
import type { RunStatus } from "../ports/store.ts"
import { all, get, type Row, type SqlValue, type Steps } from "./sql.ts"

/** Not EXISTS: PostgreSQL would rather read all events once, where it believes that they are few. */
const hasBegun = "(SELECT 1 FROM events WHERE run = num LIMIT 1) IS NOT NULL"
/** A list reads as many as the first of these that is enough, mostly a page and one more: PostgreSQL plans a statement anew each time where the number is one of its values. */
const pages = [21, 51, 101, 1001] as const
const columns = `run_id, caller, error_kind, created_at, finished_at, cancel_requested, waiting, workflow, version, started_by, outcome, usage,
  ${hasBegun} AS begun`

/** The runs of a status: what is true of them, and the index to read, where another one would look at all runs. */
const byStatus: Readonly<Record<ListedStatus, { readonly where: string; readonly index?: string }>> = {
  open: { where: "finished_at IS NULL AND waiting = 0", index: "runs_claimable" },
  queued: {
    where: `finished_at IS NULL AND waiting = 0 AND cancel_requested = 0 AND NOT ${hasBegun}`,
    index: "runs_claimable",
  },
  running: {
    where: `finished_at IS NULL AND waiting = 0 AND cancel_requested = 0 AND ${hasBegun}`,
    index: "runs_claimable",
  },
  waiting: { where: "finished_at IS NULL AND waiting = 1 AND cancel_requested = 0", index: "runs_waiting" },
  cancelling: { where: "finished_at IS NULL AND cancel_requested = 1", index: "runs_cancelling" },
  ended: { where: "finished_at IS NOT NULL" },
  completed: { where: "outcome = 'completed'" },
  failed: { where: "outcome <> 'completed' AND outcome = 'failed'", index: "runs_unsuccessful" },
  cancelled: { where: "outcome <> 'completed' AND outcome = 'cancelled'", index: "runs_unsuccessful" },
}

/** Reads the list of runs from the columns that appends keep up to date. */
export function* listRuns(query: RunQuery): Steps<ListedRun[]> {
  if (query.caller !== null) return yield* runsOf(query.caller, query)
  // Every index begins with the caller, and callers are few.
  const found: ListedRun[] = []
  for (const caller of yield* callers()) found.push(...(yield* runsOf(caller, query)))
  return found.sort((a, b) => (comesAfter(a, b) ? 1 : -1)).slice(0, query.limit)
}

function* callers(): Steps<string[]> {
  const found: string[] = []
  let row = yield* get("SELECT min(caller) AS caller FROM runs")
  while (typeof row?.["caller"] === "string") {
    found.push(row["caller"])
    row = yield* get("SELECT min(caller) AS caller FROM runs WHERE caller > ?", row["caller"])
  }
  return found
}

function* runsOf(caller: string, { workflow, status, since, error_kind, limit, after }: RunQuery): Steps<ListedRun[]> {
  const conditions = ["caller = ?"]
  const values: SqlValue[] = [caller]
  if (workflow !== null) {
    conditions.push("workflow = ?")
    values.push(workflow)
  }
  // Only failed runs have a kind of error.
  const wanted = error_kind !== null && (status === null || status === "ended") ? "failed" : status
  const { where, index } = wanted === null ? {} : byStatus[wanted]
  if (where !== undefined) conditions.push(where)
  if (error_kind !== null) {
    conditions.push("error_kind = ?")
    values.push(error_kind)
  }
  if (since !== null) {
    conditions.push("created_at >= ?")
    values.push(since)
  }
  const source = index === undefined ? "runs" : `runs INDEXED BY ${index}`
  if (after !== null) {
    conditions.push("(created_at, run_id) < (?, ?)")
    values.push(after.created_at, after.run_id)
  }
  const sql = `SELECT ${columns} FROM ${source} WHERE ${conditions.join(" AND ")}
    ORDER BY created_at DESC, run_id DESC LIMIT ${pages.find((page) => page >= limit) ?? limit}`
  return (yield* all(sql, ...values)).slice(0, limit).map(listed)
}

function listed(row: Row): ListedRun {
  const written = row["usage"] as string | null
  const outcome = row["outcome"] as RunStatus | null
  const state = openStatus({
    cancel_requested: row["cancel_requested"] === 1,
    waiting: row["waiting"] === 1,
    begun: row["begun"] === 1,
  })
  const name = row["workflow"] as string | null
  return {
    run_id: row["run_id"] as string,
    caller: row["caller"] as string,
    workflow: name === null ? null : { name, version: row["version"] as string },
    trigger: triggerIn(row),
    status: outcome ?? state,
    error_kind: row["error_kind"] as ErrorKind | null,
    created_at: row["created_at"] as number,
    finished_at: row["finished_at"] as number | null,
    usage: written === null ? noUsage : showUsage(JSON.parse(written) as Usage),
  }
}

/** What started a run; null where a caller did. */
export function triggerIn(row: Row): RunTrigger | null {
  const written = row["started_by"] as string | null
  return written === null ? null : (JSON.parse(written) as RunTrigger)
}
