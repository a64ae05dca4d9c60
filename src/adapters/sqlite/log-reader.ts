import type { DatabaseSync, SQLInputValue } from "node:sqlite"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { LogEvent } from "../../log/events.ts"
import { Damaged, NoSuchRun, type ExistingRun, type RunLookup, type RunRequest } from "../../ports/store.ts"
import type { DataKey, Vault } from "../../ports/vault.ts"
import type { Notice, TakenNotice } from "../../ports/notices.ts"
import { openNotice, openTaken } from "./outbox-reader.ts"
import { OpenedRows } from "./opened-rows.ts"
import { PreparedStatements } from "./prepared-statements.ts"
import { openRunKey } from "./run-key.ts"
import { codeOf, failureOf, sqliteCode } from "./sqlite-error.ts"

/** Keys of runs that were made or read last; unwrapping one costs more than a read. */
const keptKeys = 10_000

/** A run's number in the database, and its key. */
export interface RunHead {
  readonly run_id: string
  readonly num: number
  /** The one that the key is bound to. */
  readonly caller: string
  readonly key: DataKey
  /** It notifies of some events. */
  readonly notifies: boolean
}

export interface PageLimits {
  readonly events: number
  /** Bytes as stored. A page has at least one event, however large. */
  readonly bytes: number
}

/** Reads on a connection of its own, on the service's thread: readers never wait for the writer. */
export class LogReader {
  readonly #database: DatabaseSync
  readonly #path: string
  readonly #vault: Vault
  readonly #statements: PreparedStatements
  readonly #heads = new Map<string, RunHead>()
  readonly #opened = new OpenedRows()

  constructor(database: DatabaseSync, path: string, vault: Vault) {
    this.#database = database
    this.#statements = new PreparedStatements(database)
    this.#path = path
    this.#vault = vault
  }

  head(run_id: string): RunHead | undefined {
    const known = this.#heads.get(run_id)
    if (known !== undefined) return known
    const row = this.#get("SELECT num, caller, key, notify IS NOT NULL AS notifies FROM runs WHERE run_id = ?", run_id)
    if (row === undefined) return undefined
    const [num, caller] = [row["num"] as number, row["caller"] as string]
    const key = openRunKey(this.#vault, run_id, caller, row["key"] as Uint8Array)
    return this.remember(run_id, { run_id, num, caller, key, notifies: row["notifies"] === 1 })
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
  callerOf(run_id: string): string | undefined {
    const known = this.#heads.get(run_id)
    if (known !== undefined) return known.caller
    return this.#get("SELECT caller FROM runs WHERE run_id = ?", run_id)?.["caller"] as string | undefined
  }

  existing(idempotency: Uint8Array, fingerprint: Uint8Array): ExistingRun | null {
    const row = this.#get("SELECT run_id, fingerprint FROM runs WHERE idempotency = ?", idempotency)
    if (row === undefined) return null
    const same = Buffer.compare(row["fingerprint"] as Uint8Array, fingerprint) === 0
    return { outcome: same ? "exists" : "conflict", run_id: row["run_id"] as string }
  }

  lookup(run_id: string): RunLookup {
    const row = this.#get(
      `SELECT caller, created_at, finished_at, cancel_requested, resumable, workflow, version, waiting,
         ifnull((SELECT max(last) FROM events WHERE run = num), 0) + (condemned IS NOT NULL) AS last_event_id
       FROM runs WHERE run_id = ?`,
      run_id,
    )
    if (row === undefined) {
      const tombstone = this.#get("SELECT caller FROM tombstones WHERE run_id = ?", run_id)
      return tombstone === undefined
        ? { found: "nothing" }
        : { found: "expired", caller: tombstone["caller"] as string }
    }
    return {
      found: "run",
      run: {
        run_id,
        caller: this.#heads.get(run_id)?.caller ?? (row["caller"] as string),
        created_at: row["created_at"] as number,
        finished_at: row["finished_at"] as number | null,
        last_event_id: row["last_event_id"] as number,
        cancel_requested: row["cancel_requested"] === 1,
        resumable: row["resumable"] === 1,
        workflow:
          row["workflow"] === null ? null : { name: row["workflow"] as string, version: row["version"] as string },
        waiting: row["waiting"] === 1,
      },
    }
  }

  request(run_id: string): RunRequest {
    const head = this.head(run_id)
    const text = head === undefined ? undefined : this.#guard(() => this.#requestText(head), "of a run")
    if (head === undefined || text === undefined) throw new NoSuchRun(run_id)
    const request = JSON.parse(text) as Omit<RunRequest, "secrets">
    const sealed = this.#get(
      "SELECT ifnull(secrets, (SELECT body FROM secrets WHERE run = num)) AS body FROM runs WHERE num = ?",
      head.num,
    )?.["body"]
    const secrets = sealed instanceof Uint8Array ? head.key.open("secrets", sealed) : "{}"
    return { ...request, secrets: JSON.parse(secrets) as JsonObject }
  }

  #requestText({ num, key }: RunHead): string | undefined {
    const alone = this.#statements.get("SELECT body FROM requests WHERE run = ?").get(num)?.["body"]
    if (alone !== undefined) return key.open("request", alone as Uint8Array)
    const first = this.#statements.get("SELECT last, body FROM events WHERE run = ? ORDER BY last LIMIT 1").get(num)
    return first === undefined ? undefined : linesOf(key, first["last"] as number, first["body"]).request
  }

  /** Bytes of the rows that have the next so many events. Asks for no more rows than that, and reads none of them. */
  bytesAfter(head: RunHead, after: number, events: number): number {
    const rows = `SELECT length(body) + ifnull(length(kept), 0) AS bytes FROM events WHERE run = ? AND last > ? ORDER BY last LIMIT ?`
    const row = this.#guard(
      () => this.#statements.get(`SELECT ifnull(sum(bytes), 0) AS bytes FROM (${rows})`).get(head.num, after, events),
      "of a run",
    )
    return (row?.["bytes"] as number | undefined) ?? 0
  }

  /** Events with an id over `after`, with what was kept for a continuation. */
  pageWithKept(head: RunHead, after: number, limits: PageLimits): LogEvent[] {
    const columns = "last, body, kept, length(body) + ifnull(length(kept), 0) AS bytes"
    return this.#page(columns, head, after, limits, (row) =>
      openWithKept(head.key, row["last"] as number, row["body"], row["kept"]),
    )
  }

  /** Events with an id over `after`, as everyone may see them; others may have the same objects. */
  page(head: RunHead, after: number, limits: PageLimits): LogEvent[] {
    // The body is read only where no reader has opened the row yet: it may have megabytes, and hundreds of readers.
    return this.#page("last, length(body) AS bytes", head, after, limits, (row) => {
      const last = row["last"] as number
      // Numbers of runs are never given again; those of rows are.
      const name = `${head.num}/${last}`
      const known = this.#opened.get(name)
      if (known !== undefined) return known
      const body = this.#get("SELECT body FROM events WHERE run = ? AND last = ?", head.num, last)?.["body"]
      // Deleted since.
      if (body === undefined) return []
      const opened = openEvents(head.key, last, body)
      this.#opened.keep(name, opened, row["bytes"] as number)
      return opened
    })
  }

  #page(
    columns: string,
    head: RunHead,
    after: number,
    limits: PageLimits,
    open: (row: Record<string, unknown>) => readonly LogEvent[],
  ): LogEvent[] {
    const found: LogEvent[] = []
    let bytes = 0
    const sql = `SELECT ${columns} FROM events WHERE run = ? AND last > ? ORDER BY last`
    const end = this.#condemnedEnd(head)
    if (end !== null) return end.id > after ? [end] : []
    return this.#guard(() => {
      for (const row of this.#statements.get(sql).iterate(head.num, after)) {
        for (const event of open(row)) if (event.id > after && found.length < limits.events) found.push(event)
        bytes += row["bytes"] as number
        if (found.length >= limits.events || bytes >= limits.bytes) break
      }
      return found
    }, "of a run")
  }

  /** Asked of the database each time: another process may have condemned the run a moment ago. */
  #condemnedEnd({ run_id, num }: RunHead): LogEvent | null {
    const row = this.#get("SELECT caller, key, condemned FROM runs WHERE num = ? AND condemned IS NOT NULL", num)
    if (row === undefined) return null
    const key = openRunKey(this.#vault, run_id, row["caller"] as string, row["key"] as Uint8Array)
    return JSON.parse(key.open("end", row["condemned"] as Uint8Array)) as LogEvent
  }

  last(num: number): number {
    return this.#get("SELECT ifnull(max(last), 0) AS last FROM events WHERE run = ?", num)?.["last"] as number
  }

  stateOf(num: number): "open" | "ended" | "gone" {
    const row = this.#get("SELECT finished_at FROM runs WHERE num = ?", num)
    if (row === undefined) return "gone"
    return row["finished_at"] === null ? "open" : "ended"
  }

  isCancelRequested(run_id: string): boolean {
    return this.#get("SELECT 1 FROM runs WHERE run_id = ? AND cancel_requested = 1", run_id) !== undefined
  }

  /** Unfinished runs that must stop. */
  cancelRequests(): string[] {
    const rows = this.#guard(() =>
      this.#statements
        .get("SELECT run_id FROM runs INDEXED BY runs_cancelling WHERE cancel_requested = 1 AND finished_at IS NULL")
        .all(),
    )
    return rows.map(({ run_id }) => run_id as string)
  }

  /** Changes whenever another connection has committed something. */
  version(): number {
    return this.#get("PRAGMA data_version")?.["data_version"] as number
  }

  cached(entry: Uint8Array, now: number): JsonValue | undefined {
    const body = this.#get("SELECT body FROM cache WHERE entry = ? AND expires_at > ?", entry, now)?.["body"]
    return body === undefined
      ? undefined
      : (JSON.parse(this.#vault.open(aboutCache(entry), body as Uint8Array)) as JsonValue)
  }

  notices(run_id: string): Notice[] {
    const sql = "SELECT * FROM outbox WHERE run_id = ? ORDER BY event_id"
    return this.#guard(() => this.#statements.get(sql).all(run_id)).map((row) => openNotice(this.#vault, row))
  }

  /** One that was just taken; null when it has been deleted since. */
  takenNotice(run_id: string, event_id: number): TakenNotice | null {
    const row = this.#get("SELECT * FROM outbox WHERE run_id = ? AND event_id = ?", run_id, event_id)
    return row === undefined ? null : openTaken(this.#vault, row)
  }

  stored(caller: string): number {
    return (this.#get("SELECT bytes FROM stored WHERE caller = ?", caller)?.["bytes"] as number | undefined) ?? 0
  }

  /** When the first pending notice is due; null when there is none. */
  nextNotice(): number | null {
    const row = this.#get("SELECT min(due_at) AS due_at FROM outbox INDEXED BY outbox_due WHERE status = 'pending'")
    return (row?.["due_at"] as number | null | undefined) ?? null
  }

  close(): void {
    this.#database.close()
  }

  #get(sql: string, ...values: SQLInputValue[]): Record<string, unknown> | undefined {
    return this.#guard(() => this.#statements.get(sql).get(...values))
  }

  /** A damaged page of one run does not affect other runs. */
  #guard<T>(query: () => T, whose?: "of a run"): T {
    try {
      return query()
    } catch (error) {
      const failure = failureOf(this.#path, error)
      if (whose !== undefined && codeOf(error) === sqliteCode.corrupt) throw new Damaged(failure.message, error)
      throw failure
    }
  }
}

// What sealed things are about: changing these makes what is stored unreadable.

export function aboutCache(entry: Uint8Array): string {
  return `cache ${Buffer.from(entry).toString("hex")}`
}

function aboutEvents(last: number): string {
  return `events to ${last}`
}

function aboutKept(last: number): string {
  return `kept to ${last}`
}

/** Events as JSON, before they are sealed. */
export interface EventsText {
  /** What everyone may see of them. */
  readonly text: string
  /** What only a continuation needs, by event; null where there is nothing. */
  readonly kept: string | null
  /** The id of the last of them. */
  readonly last: number
}

export type SealedEvents = readonly [body: Uint8Array, kept: Uint8Array | null]

/** Up to this many characters that only a continuation needs are sealed with their events: a separate seal costs more than to skip them. */
const smallKept = 2048

export function textOfEvents(events: readonly LogEvent[], last: number): EventsText {
  const kept: (readonly [number, unknown])[] = []
  const shown = events.map((event) => {
    if (event.kept === undefined) return event
    kept.push([event.id, event.kept])
    return { ...event, kept: undefined }
  })
  return { text: JSON.stringify(shown), kept: kept.length === 0 ? null : JSON.stringify(kept), last }
}

/**
 * One row for all events of an append. What only a continuation needs follows them on a line of its own, or, if it is large, stands
 * apart, so that followers need not read it. The run's request, where it is given, is the third line. JSON text has no line breaks.
 */
export function sealEvents(
  key: DataKey,
  { text, kept, last }: EventsText,
  request: string | null = null,
): SealedEvents {
  const about = aboutEvents(last)
  const small = kept !== null && kept.length <= smallKept ? kept : null
  const lines = request !== null ? `${text}\n${small ?? ""}\n${request}` : small !== null ? `${text}\n${small}` : text
  const apart = kept === null || small !== null ? null : key.seal(aboutKept(last), kept)
  return [key.seal(about, lines), apart]
}

/** The one event of a condemned run. */
export function sealEnd(key: DataKey, end: LogEvent): Uint8Array {
  return key.seal("end", JSON.stringify(end))
}

/** What a row of events holds, line by line. */
function linesOf(key: DataKey, last: number, body: unknown): { shown: string; kept?: string; request?: string } {
  const [shown = "", kept = "", request] = key.open(aboutEvents(last), body as Uint8Array).split("\n")
  return { shown, ...(kept !== "" && { kept }), ...(request !== undefined && { request }) }
}

/** Of a row, as everyone may see them. */
export function openEvents(key: DataKey, last: number, body: unknown): LogEvent[] {
  return JSON.parse(linesOf(key, last, body).shown) as LogEvent[]
}

/** With what was kept for a continuation. */
export function openWithKept(key: DataKey, last: number, body: unknown, apart: unknown): LogEvent[] {
  const { shown, kept: small } = linesOf(key, last, body)
  const events = JSON.parse(shown) as LogEvent[]
  const kept = apart instanceof Uint8Array ? key.open(aboutKept(last), apart) : small
  if (kept === undefined) return events
  const more = new Map(JSON.parse(kept) as [number, JsonValue][])
  return events.map((event) => {
    const value = more.get(event.id)
    return value === undefined ? event : { ...event, kept: value }
  })
}
