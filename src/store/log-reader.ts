import { parseInOrder } from "../base/ordered-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { OutputKeeper } from "../ports/trigger-store.ts"
import { triggerIn, workflowIn } from "./run-list-reader.ts"
import { keptKey } from "./trigger-writer.ts"
import type { ErrorKind, LogEvent, Usage } from "../log/events.ts"
import { noUsage, showUsage } from "../log/usage.ts"
import {
  NoSuchRun,
  type ExistingRun,
  type RedactedRun,
  type RunLookup,
  type RunRequest,
  type RunRow,
  type RunStatus,
} from "../ports/store.ts"
import type { DataKey, Vault } from "../ports/vault.ts"
import type { Notice, TakenNotice } from "../ports/notices.ts"
import { openNotice, openTaken } from "./sealed-notices.ts"
import { openRunKey, openSecretsKey } from "./run-key.ts"
import { aboutCache, openEvents, openWithKept, requestOf } from "./sealed-events.ts"
import { all, allOfRun, get, getOfRun, type Row, type Steps } from "./sql.ts"

/** Keys of runs that were made or read last; unwrapping one costs more than a read. */
const keptKeys = 10_000

/** A run's number in the database, and its key. */
export interface RunHead {
  readonly run_id: string
  readonly num: number
  /** The caller that the key is bound to. */
  readonly caller: string
  readonly key: DataKey
  /** It notifies of some events. */
  readonly notifies: boolean
  /** The schedule that remembers its output. */
  readonly keeper: OutputKeeper | null
}

export interface PageLimits {
  readonly events: number
  /** Bytes as stored. A page has at least one event, however large. */
  readonly bytes: number
}

/** The part of a log that a page is made of, before anything of it is opened. */
export interface LogPart {
  readonly head: RunHead
  readonly after: number
  readonly limit: number
  /** The rows to open, by the last event of each. */
  readonly rows: readonly { readonly last: number; readonly bytes: number }[]
  readonly bytes: number
  /** The only event of a run that was failed as corrupt. */
  readonly end: LogEvent | null
  readonly state: "open" | "ended" | "gone"
}

/** Reads runs, their logs, cached answers and notices, and opens them. */
export class LogReader {
  readonly #vault: Vault
  readonly #heads = new Map<string, RunHead>()
  readonly #opened = new OpenedRows()

  constructor(vault: Vault) {
    this.#vault = vault
  }

  /** The head of a run that was made or read lately. */
  known(run_id: string): RunHead | undefined {
    return this.#heads.get(run_id)
  }

  *head(run_id: string): Steps<RunHead | undefined> {
    const known = this.#heads.get(run_id)
    if (known !== undefined) return known
    const row = yield* get(
      "SELECT num, caller, key, keeper, notify IS NOT NULL AS notifies FROM runs WHERE run_id = ?",
      run_id,
    )
    if (row === undefined) return undefined
    const [num, caller] = [row["num"] as number, row["caller"] as string]
    const key = openRunKey(this.#vault, run_id, caller, row["key"] as Uint8Array)
    const keeper = row["keeper"] === null ? null : (JSON.parse(row["keeper"] as string) as OutputKeeper)
    return this.remember(run_id, { run_id, num, caller, key, notifies: row["notifies"] === 1, keeper })
  }

  remember(run_id: string, head: RunHead): RunHead {
    if (this.#heads.size >= keptKeys) {
      const [oldest] = this.#heads.keys()
      if (oldest !== undefined) this.#heads.delete(oldest)
    }
    this.#heads.set(run_id, head)
    return head
  }

  /** For a run that has ended: it may be read again, but need not. */
  forget(run_id: string): void {
    this.#heads.delete(run_id)
  }

  /**
   * As the database says it, unless the key of the run is known, which belongs to one caller. Of a run that was given to another one in the
   * database nothing else can be read.
   */
  *callerOf(run_id: string): Steps<string | undefined> {
    const known = this.#heads.get(run_id)
    if (known !== undefined) return known.caller
    return (yield* get("SELECT caller FROM runs WHERE run_id = ?", run_id))?.["caller"] as string | undefined
  }

  *existing(idempotency: Uint8Array, fingerprint: Uint8Array, now: number): Steps<ExistingRun | null> {
    const row =
      (yield* get("SELECT run_id, fingerprint FROM runs WHERE idempotency = ?", idempotency)) ??
      (yield* keptKey(idempotency, now))
    if (row === undefined) return null
    const same = Buffer.compare(row["fingerprint"] as Uint8Array, fingerprint) === 0
    return { outcome: same ? "exists" : "conflict", run_id: row["run_id"] as string }
  }

  *lookup(run_id: string): Steps<RunLookup> {
    const row = yield* get(
      `SELECT caller, created_at, finished_at, cancel_requested, workflow, version, release, shadow_of, moved_from, started_by, trace_id, waiting,
         redacted_at, outcome, error_kind, usage, rerun_of,
         coalesce((SELECT max(last) FROM events WHERE run = num), 0)
           + CASE WHEN condemned IS NULL THEN 0 ELSE 1 END AS last_event_id
       FROM runs WHERE run_id = ?`,
      run_id,
    )
    if (row === undefined) {
      const tombstone = yield* get("SELECT caller FROM tombstones WHERE run_id = ?", run_id)
      return tombstone === undefined
        ? { found: "nothing" }
        : { found: "expired", caller: tombstone["caller"] as string }
    }
    const run: RunRow = {
      run_id,
      caller: this.#heads.get(run_id)?.caller ?? (row["caller"] as string),
      created_at: row["created_at"] as number,
      finished_at: row["finished_at"] as number | null,
      last_event_id: row["last_event_id"] as number,
      cancel_requested: row["cancel_requested"] === 1,
      workflow: workflowIn(row),
      trigger: triggerIn(row),
      trace_id: row["trace_id"] as string | null,
      waiting: row["waiting"] === 1,
    }
    return row["redacted_at"] === null ? { found: "run", run } : redactedIn(row, run)
  }

  *request(run_id: string): Steps<RunRequest> {
    const head = yield* this.head(run_id)
    const text = head === undefined ? undefined : yield* this.#requestText(head)
    if (head === undefined || text === undefined) throw new NoSuchRun(run_id)
    const request = parseInOrder(text) as Omit<RunRequest, "secrets">
    return { ...request, secrets: yield* this.#secrets(head) }
  }

  *#secrets({ num, run_id }: RunHead): Steps<JsonObject> {
    const row = yield* get(
      "SELECT body, key FROM secrets JOIN secret_keys ON secret_keys.place = secrets.place WHERE run = ?",
      num,
    )
    if (row === undefined) return {}
    const key = openSecretsKey(this.#vault, run_id, row["key"] as Uint8Array)
    return JSON.parse(key.open("secrets", row["body"] as Uint8Array)) as JsonObject
  }

  *#requestText({ num, key }: RunHead): Steps<string | undefined> {
    const alone = (yield* getOfRun("SELECT body FROM requests WHERE run = ?", num))?.["body"]
    if (alone !== undefined) return key.open("request", alone as Uint8Array)
    const first = yield* getOfRun("SELECT last, body FROM events WHERE run = ? ORDER BY last LIMIT 1", num)
    return first === undefined ? undefined : requestOf(key, first["last"] as number, first["body"])
  }

  /** What the next page of a log consists of. Opens nothing of it, and reads no row's content. */
  *part(head: RunHead, after: number, limits: PageLimits): Steps<LogPart> {
    // In this order: a run that was over before its rows were read has no events that they lack. And each time: another process may have
    // condemned the run a moment ago.
    const row = yield* get("SELECT finished_at, condemned, caller, key FROM runs WHERE num = ?", head.num)
    const state = row === undefined ? "gone" : row["finished_at"] === null ? "open" : "ended"
    const none = { head, after, limit: limits.events, rows: [], bytes: 0, end: null, state } as const
    if (row !== undefined && row["condemned"] !== null) {
      const end = this.#corruptEnd(head, row)
      return end.id > after ? { ...none, end } : none
    }
    const found = yield* allOfRun(
      `SELECT last, length(body) + coalesce(length(kept), 0) AS bytes FROM events
       WHERE run = ? AND last > ? ORDER BY last LIMIT ?`,
      head.num,
      after,
      limits.events,
    )
    const rows: { last: number; bytes: number }[] = []
    let all = 0
    for (const one of found) {
      const [last, bytes] = [one["last"] as number, one["bytes"] as number]
      rows.push({ last, bytes })
      all += bytes
      if (last - after >= limits.events || all >= limits.bytes) break
    }
    return { ...none, rows, bytes: all }
  }

  /** Its events, with what was kept for a continuation. */
  *openWithKept({ head, after, limit, rows, end }: LogPart): Steps<LogEvent[]> {
    if (end !== null) return [end]
    const found = yield* this.#rows("last, body, kept", head, rows)
    const events = found.flatMap((row) => openWithKept(head.key, row["last"] as number, row["body"], row["kept"]))
    return events.filter(({ id }) => id > after).slice(0, limit)
  }

  /** Its events, as everyone may see them; others may have the same objects. */
  *open({ head, after, limit, rows, end }: LogPart): Steps<LogEvent[]> {
    if (end !== null) return [end]
    // Read only where no reader has opened the row yet: it may have megabytes, and hundreds of readers.
    const opened = new Map<number, readonly LogEvent[]>()
    for (const { last } of rows) {
      const known = this.#opened.get(nameOf(head, last))
      if (known !== undefined) opened.set(last, known)
    }
    const missing = rows.filter(({ last }) => !opened.has(last))
    for (const row of yield* this.#rows("last, body", head, missing)) {
      const last = row["last"] as number
      if (opened.has(last)) continue
      // Another reader may have opened it while this one waited for the database.
      const known = this.#opened.get(nameOf(head, last))
      const events = known ?? openEvents(head.key, last, row["body"])
      opened.set(last, events)
      this.#opened.keep(nameOf(head, last), events, (row["body"] as Uint8Array).length)
    }
    const found: LogEvent[] = []
    for (const { last } of rows) {
      // Rows that were deleted since are not there.
      for (const event of opened.get(last) ?? []) if (event.id > after && found.length < limit) found.push(event)
    }
    return found
  }

  /** The rows from the first of these to the last. */
  *#rows(columns: string, { num }: RunHead, rows: LogPart["rows"]): Steps<readonly Row[]> {
    const [first, last] = [rows[0], rows.at(-1)]
    if (first === undefined || last === undefined) return []
    return yield* allOfRun(
      `SELECT ${columns} FROM events WHERE run = ? AND last >= ? AND last <= ? ORDER BY last`,
      num,
      first.last,
      last.last,
    )
  }

  #corruptEnd({ run_id }: RunHead, row: Row): LogEvent {
    const key = openRunKey(this.#vault, run_id, row["caller"] as string, row["key"] as Uint8Array)
    return JSON.parse(key.open("end", row["condemned"] as Uint8Array)) as LogEvent
  }

  *last(num: number): Steps<number> {
    return (yield* get("SELECT coalesce(max(last), 0) AS last FROM events WHERE run = ?", num))?.["last"] as number
  }

  *isCancelRequested(run_id: string): Steps<boolean> {
    const row = yield* get("SELECT 1 AS cancelled FROM runs WHERE run_id = ? AND cancel_requested = 1", run_id)
    return row !== undefined
  }

  /** Unfinished runs that must stop. */
  *cancelRequests(): Steps<string[]> {
    const rows = yield* all(
      "SELECT run_id FROM runs INDEXED BY runs_cancelling WHERE cancel_requested = 1 AND finished_at IS NULL",
    )
    return rows.map(({ run_id }) => run_id as string)
  }

  *cached(entry: Uint8Array, now: number): Steps<JsonValue | undefined> {
    const row = yield* get("SELECT body FROM cache WHERE entry = ? AND expires_at > ?", entry, now)
    return row === undefined
      ? undefined
      : (parseInOrder(this.#vault.open(aboutCache(entry), row["body"] as Uint8Array)) as JsonValue)
  }

  *notices(run_id: string): Steps<Notice[]> {
    const rows = yield* all("SELECT * FROM outbox WHERE run_id = ? ORDER BY event_id", run_id)
    return rows.map((row) => openNotice(this.#vault, row))
  }

  /** One that was just taken; null when it has been deleted since. */
  *takenNotice(run_id: string, event_id: number): Steps<TakenNotice | null> {
    const row = yield* get("SELECT * FROM outbox WHERE run_id = ? AND event_id = ?", run_id, event_id)
    return row === undefined ? null : openTaken(this.#vault, row)
  }

  *stored(caller: string): Steps<number> {
    return ((yield* get("SELECT bytes FROM stored WHERE caller = ?", caller))?.["bytes"] as number | undefined) ?? 0
  }

  /** When the first pending notice is due; null when there is none. */
  *nextNotice(): Steps<number | null> {
    const row = yield* get("SELECT min(due_at) AS due_at FROM outbox INDEXED BY outbox_due WHERE status = 'pending'")
    return (row?.["due_at"] as number | null | undefined) ?? null
  }
}

/** Numbers of runs are never given again; those of rows are. */
function nameOf({ num }: RunHead, last: number): string {
  return `${num}/${last}`
}

/** Bytes as stored. Opened, they take a few times as much. */
const keptBytes = 4 * 1024 * 1024

/**
 * Rows of logs that were opened last. Many who follow one run read the same rows at about the same time: one of them
 * decrypts and parses, all have the same events in hand. The newest is kept whatever its size: else a large row would be opened
 * again for each of hundreds of readers.
 */
class OpenedRows {
  readonly #rows = new Map<string, { readonly events: readonly LogEvent[]; readonly bytes: number }>()
  #bytes = 0

  get(key: string): readonly LogEvent[] | undefined {
    return this.#rows.get(key)?.events
  }

  keep(key: string, events: readonly LogEvent[], bytes: number): void {
    if (this.#rows.has(key)) return
    this.#rows.set(key, { events, bytes })
    this.#bytes += bytes
    for (const [oldest, row] of this.#rows) {
      if (this.#bytes <= keptBytes || oldest === key) break
      this.#rows.delete(oldest)
      this.#bytes -= row.bytes
    }
  }
}

/** Reads a run whose private values were deleted. */
function redactedIn(row: Row, run: RunRow): RunLookup {
  const usage = row["usage"] as string | null
  const redacted: RedactedRun = {
    run: { ...run, last_event_id: 0 },
    status: row["outcome"] as RunStatus,
    error_kind: row["error_kind"] as ErrorKind | null,
    usage: usage === null ? noUsage : showUsage(JSON.parse(usage) as Usage),
    rerun_of: row["rerun_of"] as string | null,
    redacted_at: row["redacted_at"] as number,
  }
  return { found: "expired", caller: run.caller, redacted }
}
