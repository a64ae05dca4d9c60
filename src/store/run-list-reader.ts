import type { ErrorKind, RunTrigger, Usage } from "../log/events.ts"
import { noUsage, showUsage } from "../log/usage.ts"
import {
  comesAfter,
  openStatus,
  type ListedRun,
  type ListedStatus,
  type RunOrigin,
  type RunPosition,
  type RunQuery,
  type WorkflowVersion,
} from "../ports/run-list.ts"
import { StoreFailure, type RunStatus } from "../ports/store.ts"
import type { Release } from "../log/release.ts"
import type { Vault } from "../ports/vault.ts"
import { inOrderOfTime } from "../ports/scores.ts"
import { scoreState } from "./score-writer.ts"
import { matchOf, openScore } from "./sealed-scores.ts"
import { openRunKey } from "./run-key.ts"
import { openEnded, openPreview } from "./sealed-previews.ts"
import { all, get, type Row, type SqlValue, type Steps } from "./sql.ts"

/** Not EXISTS: PostgreSQL would rather read all events once, where it believes that they are few. */
const hasBegun = "(SELECT 1 FROM events WHERE run = num LIMIT 1) IS NOT NULL"
/** A list reads as many as the first of these that is enough, mostly a page and one more: PostgreSQL plans a statement anew each time where the number is one of its values. */
const pages = [21, 51, 101, 1001] as const
const columns = `run_id, caller, error_kind, created_at, finished_at, cancel_requested, waiting, workflow, version, release, shadow_of, moved_from, started_by, origin, trace_id, outcome, usage,
  ${hasBegun} AS begun`
/** Reading these, and opening them, takes as long as all the rest. */
const previewColumns = ", num, key, preview, end_preview"

/** The runs of a status: what is true of them, and the index to read, where another one would look at all runs. */
export const byStatus: Readonly<Record<ListedStatus, { readonly where: string; readonly index?: string }>> = {
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
export function* listRuns(query: RunQuery, vault: Vault): Steps<ListedRun[]> {
  const opening = query.previews ? vault : null
  const digest = query.score === null ? null : matchOf(vault, query.score)
  if (query.caller !== null) return yield* listedRuns(yield* rowsOf(query.caller, query, digest), opening)
  // Every index begins with the caller, and callers are few.
  const found: Row[] = []
  for (const caller of yield* callers()) found.push(...(yield* rowsOf(caller, query, digest)))
  const inOrder = found.sort((a, b) => (comesAfter(positionOf(a), positionOf(b)) ? 1 : -1))
  // Opening what is sealed takes longer than all the rest: only of those that are listed.
  return yield* listedRuns(inOrder.slice(0, query.limit), opening)
}

function* listedRuns(rows: readonly Row[], opening: Vault | null): Steps<ListedRun[]> {
  if (opening === null || rows.length === 0) return rows.map((row) => listed(row, opening, []))
  const numbers = JSON.stringify(rows.map((row) => row["num"] as number))
  const found = yield* all(
    `SELECT run, name, author, body FROM run_scores WHERE state = ${scoreState.shown} AND run IN (SELECT value FROM json_each(?1))`,
    numbers,
  )
  const scores = Map.groupBy(found, (row) => row["run"] as number)
  return rows.map((row) => listed(row, opening, scores.get(row["num"] as number) ?? []))
}

function positionOf(row: Row): RunPosition {
  return { created_at: row["created_at"] as number, run_id: row["run_id"] as string }
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

function* rowsOf(caller: string, query: RunQuery, score: Uint8Array | null): Steps<readonly Row[]> {
  const { workflows, version, release, status, started_by, since, until, error_kind, previews, limit, after } = query
  const conditions = ["caller = ?"]
  const values: SqlValue[] = [caller]
  if (workflows !== null) {
    // PostgreSQL plans a statement for each number of values: there are few.
    conditions.push(workflows.length === 1 ? "workflow = ?" : `workflow IN (${workflows.map(() => "?").join(", ")})`)
    values.push(...workflows)
  }
  if (version !== null) {
    conditions.push("version = ?")
    values.push(version)
  }
  if (started_by !== null) {
    conditions.push("origin = ?")
    values.push(started_by)
  }
  if (release === null) conditions.push("shadow_of IS NULL")
  else {
    conditions.push("release = ?")
    values.push(release)
  }
  // Only failed runs have a kind of error.
  const wanted = error_kind !== null && (status === null || status === "ended") ? "failed" : status
  const { where, index } = wanted === null ? {} : byStatus[wanted]
  if (where !== undefined) conditions.push(where)
  if (error_kind !== null) {
    conditions.push("error_kind = ?")
    values.push(error_kind)
  }
  if (score !== null) {
    conditions.push("num IN (SELECT run FROM run_scores WHERE found_by = ?)")
    values.push(score)
  }
  if (since !== null) {
    conditions.push("created_at >= ?")
    values.push(since)
  }
  if (until !== null) {
    conditions.push("created_at < ?")
    values.push(until)
  }
  const source = index === undefined ? "runs" : `runs INDEXED BY ${index}`
  if (after !== null) {
    conditions.push("(created_at, run_id) < (?, ?)")
    values.push(after.created_at, after.run_id)
  }
  const sql = `SELECT ${columns}${previews ? previewColumns : ""} FROM ${source} WHERE ${conditions.join(" AND ")}
    ORDER BY created_at DESC, run_id DESC LIMIT ${pages.find((page) => page >= limit) ?? limit}`
  return (yield* all(sql, ...values)).slice(0, limit)
}

function listed(row: Row, vault: Vault | null, scores: readonly Row[]): ListedRun {
  const written = row["usage"] as string | null
  const outcome = row["outcome"] as RunStatus | null
  const state = openStatus({
    cancel_requested: row["cancel_requested"] === 1,
    waiting: row["waiting"] === 1,
    begun: row["begun"] === 1,
  })
  return {
    run_id: row["run_id"] as string,
    caller: row["caller"] as string,
    workflow: workflowIn(row),
    trigger: triggerIn(row),
    started_by: row["origin"] as RunOrigin,
    trace_id: row["trace_id"] as string | null,
    status: outcome ?? state,
    error_kind: row["error_kind"] as ErrorKind | null,
    created_at: row["created_at"] as number,
    finished_at: row["finished_at"] as number | null,
    usage: written === null ? noUsage : showUsage(JSON.parse(written) as Usage),
    ...(vault === null ? noPreviews : previewsIn(row, vault, scores)),
  }
}

const noPreviews = { preview: null, end: null, scores: [] }

function previewsIn(row: Row, vault: Vault, scores: readonly Row[]): Pick<ListedRun, "preview" | "end" | "scores"> {
  try {
    const key = openRunKey(vault, row["run_id"] as string, row["caller"] as string, row["key"] as Uint8Array)
    return {
      preview: openPreview(key, row["preview"]),
      end: openEnded(key, row["end_preview"]),
      scores: inOrderOfTime(scores.flatMap((score) => openScore(key, score))),
    }
  } catch (error) {
    // The list goes on without those of a run whose key is damaged.
    if (error instanceof StoreFailure) return noPreviews
    throw error
  }
}

/** The workflow of the server's folder that a run is of; null for source that a caller sent. */
export function workflowIn(row: Row): WorkflowVersion | null {
  const optional = ["workflow", "release", "shadow_of", "moved_from"].map((column) => row[column])
  const [name, release, shadow_of, moved_from] = optional as (string | null)[]
  if (typeof name !== "string") return null
  return {
    name,
    version: row["version"] as string,
    ...(typeof release === "string" && { release: release as Release }),
    ...(typeof shadow_of === "string" && { shadow_of }),
    ...(typeof moved_from === "string" && { moved_from }),
  }
}

/** What started a run; null where a caller did. */
export function triggerIn(row: Row): RunTrigger | null {
  const written = row["started_by"] as string | null
  return written === null ? null : (JSON.parse(written) as RunTrigger)
}
