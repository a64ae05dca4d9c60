import type { WakeUp } from "../../base/wake-up.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { memoryOf } from "../../base/memory-of.ts"
import { eventBytes } from "../../log/event-bytes.ts"
import type { LogEvent, Usage } from "../../log/events.ts"
import { endStatus, errorKindOf, openStatus, originOf, type ListedRun } from "../../ports/run-list.ts"
import type { Score } from "../../ports/scores.ts"
import { previewOfEnd, previewOfRequest } from "../../ports/run-preview.ts"
import type { NewRun, RedactedRun, RunLookup, RunRequest, RunRow } from "../../ports/store.ts"
import { noUsage, showUsage } from "../../log/usage.ts"

/** A run as a `MemoryStore` keeps it. */
export interface StoredRun {
  /** In the order in which runs were made. */
  readonly number: number
  readonly caller: string
  readonly created_at: number
  readonly idempotency: { readonly slot: string; readonly fingerprint: string; readonly kept_until: number } | null
  readonly wakeUps: Set<WakeUp>
  scored: boolean
  private: boolean
  /** What everyone may see. */
  readonly events: LogEvent[]
  /** `kept` of the event with that id: as long as the run, for a re-run may take results over. */
  readonly kept: Map<number, JsonValue>
  /** The only event that is left of a condemned run's log. */
  end: LogEvent | null
  /** All that it was given and made is gone: how it ended stays. */
  redacted: (Pick<ListedRun, "status" | "error_kind"> & { readonly at: number }) | null
  request: RunRequest
  finished_at: number | null
  cancel_requested: boolean
  fence: number
  /** By the monotonic clock. */
  lease_until: number
  given_back: boolean
  /** Parked; `woken` from its wake on until it is claimed. */
  parked: "waiting" | "woken" | null
  usage: Usage
  /** How much of what is stored of it counts for its caller. */
  counted: number
}

/** `slot` is where the store finds the run by its idempotency key. */
export function newStoredRun(run: NewRun, number: number, slot: string | null, lease_until: number): StoredRun {
  return {
    number,
    caller: run.caller,
    created_at: run.created_at,
    idempotency:
      slot === null
        ? null
        : { slot, fingerprint: run.idempotency?.fingerprint ?? "", kept_until: run.idempotency?.kept_until ?? 0 },
    wakeUps: new Set(),
    scored: run.scored === true,
    private: run.private === true,
    redacted: null,
    events: [],
    kept: new Map(),
    end: null,
    request: run.request,
    finished_at: null,
    cancel_requested: false,
    fence: 1,
    lease_until,
    given_back: false,
    parked: null,
    usage: noUsage,
    counted: 0,
  }
}

/** About what is stored of a run. */
export function storedBytes({ request, events, kept }: StoredRun): number {
  let bytes = memoryOf(request)
  for (const event of events) bytes += eventBytes(event)
  for (const one of kept.values()) bytes += memoryOf(one)
  return bytes
}

export function runRow(run_id: string, run: StoredRun): RunRow {
  const { caller, created_at, finished_at, cancel_requested } = run
  return {
    run_id,
    caller,
    created_at,
    finished_at,
    last_event_id: run.end?.id ?? run.events.length,
    cancel_requested,
    waiting: run.parked === "waiting",
    workflow: run.request.workflow ?? null,
    trigger: run.request.trigger ?? null,
    trace_id: run.request.trace_id ?? null,
  }
}

export function listedRun(run_id: string, run: StoredRun, previews: boolean, scores: readonly Score[] = []): ListedRun {
  const { caller, created_at, finished_at, cancel_requested, usage, parked, events } = run
  const end = finished_at === null ? undefined : (run.end ?? events.at(-1))
  const status =
    run.redacted !== null
      ? run.redacted.status
      : end === undefined
        ? openStatus({ cancel_requested, waiting: parked === "waiting", begun: events.length > 0 })
        : endStatus(end)
  return {
    run_id,
    caller,
    workflow: run.request.workflow ?? null,
    trigger: run.request.trigger ?? null,
    started_by: originOf(run.request),
    trace_id: run.request.trace_id ?? null,
    status,
    error_kind: run.redacted !== null ? run.redacted.error_kind : end === undefined ? null : errorKindOf(end),
    created_at,
    finished_at,
    usage: showUsage(usage),
    preview: previews && run.redacted === null ? previewOfRequest(run.request) : null,
    scores,
    end: previews && end !== undefined ? previewOfEnd(end) : null,
  }
}

export function withoutKept(event: LogEvent, keep: Map<number, JsonValue>): LogEvent {
  const { id, type, at, data, cost, kept } = event
  if (kept !== undefined) keep.set(id, kept)
  return (cost === undefined ? { id, type, at, data } : { id, type, at, data, cost }) as LogEvent
}

export function withKept(event: LogEvent, keep: ReadonlyMap<number, JsonValue>): LogEvent {
  const kept = keep.get(event.id)
  return kept === undefined ? event : { ...event, kept }
}

export function eventsAfter(run: StoredRun | undefined, after: number, limit: number): LogEvent[] {
  if (run === undefined) return []
  if (run.end !== null) return run.end.id > after && limit > 0 ? [run.end] : []
  return run.events.slice(after, after + limit)
}

/** Deletes all that a run that has ended was given and made. */
export function redactStored(run: StoredRun, at: number): void {
  const { status, error_kind } = listedRun("", run, false)
  run.redacted = { status, error_kind, at }
  run.end = null
  run.events.length = 0
  run.kept.clear()
  const { modules: _modules, file: _file, chat: _chat, ...request } = run.request
  run.request = { ...request, source: "", input: {} }
}

export function lookedUp(run_id: string, run: StoredRun): RunLookup {
  const row = runRow(run_id, run)
  if (run.redacted === null) return { found: "run", run: row }
  const { status, error_kind, at } = run.redacted
  const redacted: RedactedRun = {
    run: row,
    status,
    error_kind,
    usage: showUsage(run.usage),
    rerun_of: run.request.rerun?.run_id ?? null,
    redacted_at: at,
  }
  return { found: "expired", caller: run.caller, redacted }
}
