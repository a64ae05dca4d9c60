import type { Release } from "../log/release.ts"
import type { Score, ScoreFilter } from "./scores.ts"
import type { ErrorKind, LogEvent, RunTrigger, Usage } from "../log/events.ts"

// The list of runs, as a store keeps it beside their logs.

export type RunStatus = "queued" | "running" | "waiting" | "cancelling" | "completed" | "failed" | "cancelled"

/** A workflow of the server's folder, as it was when a run began. */
export interface WorkflowVersion {
  readonly name: string
  /** The first 12 hex digits of the SHA-256 of its file. */
  readonly version: string
  /** Its side, where there was a candidate; absent where there was none. */
  readonly release?: Release
  /** Of a shadow: the run that it shadows. */
  readonly shadow_of?: string
  /** The version before, of a run that has moved to this one. */
  readonly moved_from?: string
}

/** `open` is queued, running or cancelling; `ended` is completed, failed or cancelled. */
export type ListedStatus = RunStatus | "open" | "ended"

/** A place in the list: right after this run. */
export interface RunPosition {
  readonly created_at: number
  readonly run_id: string
}

/** What the list shows of a request. */
export interface RequestPreview {
  /** The first steps of its source, by name. */
  readonly steps: readonly string[]
  /** In one line. */
  readonly input: string
  readonly started_by: "request" | "rerun" | "webhook" | "schedule" | "responses" | "chat" | "ag-ui"
}

/** What the list shows of how a run ended. */
export interface EndPreview {
  /** In one line; null where there is none. */
  readonly output: string | null
  readonly error: { readonly kind: ErrorKind; readonly path: string | null; readonly message: string } | null
}

/** What started a run. A client of a chat API is a request, too. */
export type RunOrigin = "request" | "schedule" | "webhook" | "rerun"

export function originOf({
  trigger,
  rerun,
}: {
  readonly trigger?: RunTrigger | undefined
  readonly rerun?: object | undefined
}): RunOrigin {
  if (rerun !== undefined) return "rerun"
  if (trigger === undefined) return "request"
  return "webhook" in trigger ? "webhook" : "schedule"
}

export interface RunQuery {
  /** Null for the runs of all callers. */
  readonly caller: string | null
  /** Only runs of the workflows with these names; null for all. */
  readonly workflows: readonly string[] | null
  /** Only runs of this version of their workflow; null for all. */
  readonly version: string | null
  /** Null for all but shadows. */
  readonly release: Release | null
  /** Null for all. */
  readonly status: ListedStatus | null
  /** Only runs that were started by this; null for all. */
  readonly started_by: string | null
  /** Only runs that were made at this time or later, in milliseconds since the epoch; null for all. */
  readonly since: number | null
  /** Only runs that were made before this time; null for all. */
  readonly until: number | null
  /** Only runs that failed with an error of this kind; null for all. */
  readonly error_kind: ErrorKind | null
  /** Only runs with this score; null for all. */
  readonly score: ScoreFilter | null
  /** Whether to open what is kept of each run for the eye. */
  readonly previews: boolean
  readonly limit: number
  /** The last run of the page before; null for the first page. */
  readonly after: RunPosition | null
}

export interface ListedRun {
  readonly run_id: string
  readonly caller: string
  readonly workflow: WorkflowVersion | null
  readonly trigger: RunTrigger | null
  readonly started_by: RunOrigin
  readonly trace_id: string | null
  readonly status: RunStatus
  /** Null unless it failed. */
  readonly error_kind: ErrorKind | null
  readonly created_at: number
  readonly finished_at: number | null
  /** So far. */
  readonly usage: Usage
  /** Null where none was asked for, or it cannot be opened. */
  readonly preview: RequestPreview | null
  /** The same; null also as long as it has not ended. */
  readonly end: EndPreview | null
  /** Those that lists show. Empty where no preview was asked for. */
  readonly scores: readonly Score[]
}

/** A query for all runs, of which the first page is read. */
export const allRuns: Omit<RunQuery, "limit"> = {
  caller: null,
  workflows: null,
  version: null,
  release: null,
  status: null,
  started_by: null,
  since: null,
  until: null,
  error_kind: null,
  score: null,
  previews: false,
  after: null,
}

export interface RunList {
  /**
   * Runs that are kept, newest first; those that were made in the same millisecond by their ids, the
   * largest first. A change is in the list within a second. Fewer than `limit` say that there are no more.
   */
  list(query: RunQuery): Promise<ListedRun[]>
}

/** Whether one place of the list comes after another. */
export function comesAfter(a: RunPosition, b: RunPosition): boolean {
  return a.created_at === b.created_at ? a.run_id < b.run_id : a.created_at < b.created_at
}

/** The status of a run that has not ended. */
export function openStatus(run: {
  readonly cancel_requested: boolean
  readonly waiting: boolean
  readonly begun: boolean
}): RunStatus {
  if (run.cancel_requested) return "cancelling"
  if (run.waiting) return "waiting"
  return run.begun ? "running" : "queued"
}

/** How a run ended, by its terminal event. */
export function endStatus({ type }: Pick<LogEvent, "type">): RunStatus {
  if (type === "workflow_completed") return "completed"
  return type === "workflow_cancelled" ? "cancelled" : "failed"
}

/** Why a run failed, by its terminal event; null where it did not. */
export function errorKindOf(end: LogEvent): ErrorKind | null {
  return end.type === "workflow_failed" ? end.data.error.kind : null
}

export function fitsStatus(status: RunStatus, wanted: ListedStatus | null): boolean {
  switch (wanted) {
    case null:
      return true
    case "open":
      return status === "queued" || status === "running" || status === "cancelling"
    case "ended":
      return status === "completed" || status === "failed" || status === "cancelled"
    default:
      return status === wanted
  }
}

/** Whether a run passes the filters of a query; whose it is was looked at before. */
export function fitsQuery(run: ListedRun, query: Omit<RunQuery, "limit" | "after" | "previews" | "score">): boolean {
  const { workflows, version, release, status, started_by, since, until, error_kind } = query
  if (workflows !== null && !workflows.includes(run.workflow?.name ?? "")) return false
  if (version !== null && run.workflow?.version !== version) return false
  const side = run.workflow?.release
  if (release === null ? side === "shadow" : side !== release) return false
  if (started_by !== null && run.started_by !== started_by) return false
  if (since !== null && run.created_at < since) return false
  if (until !== null && run.created_at >= until) return false
  if (error_kind !== null && run.error_kind !== error_kind) return false
  return fitsStatus(run.status, status)
}
