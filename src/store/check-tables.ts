import { Damaged, NoSuchRun } from "../ports/store.ts"
import type { Vault } from "../ports/vault.ts"
import { LogReader } from "./log-reader.ts"
import { tablesOfRun } from "./left-behind.ts"
import { openTaken } from "./sealed-notices.ts"
import { all, get, type Row, type SqlValue, type Steps } from "./sql.ts"
import { WaitReader } from "./wait-reader.ts"

export interface StoreReport extends TableReport {
  /** The database: its file, or its address. */
  readonly path: string
  readonly bytes: number
  /** Processes that have it open. */
  readonly open_by: number
  readonly format: number
}

export interface TableReport {
  readonly runs: { readonly unfinished: number; readonly ended: number }
  readonly events: number
  readonly cached_answers: number
  /** ISO times of creation; null without runs. */
  readonly oldest_run: string | null
  readonly newest_run: string | null
  /** Runs with unreadable data, the first of them by id. */
  readonly damaged_runs: number
  readonly damaged_run_ids: readonly string[]
  /** Questions to people; null in a database of another format. */
  readonly questions: { readonly open: number; readonly settled: number; readonly damaged: number } | null
  /** Notifications in the outbox; null in a database of another format. */
  readonly notifications: { readonly pending: number; readonly settled: number; readonly damaged: number } | null
  /** Files, the bytes of their objects, and how many objects are missing where they are kept; null in a database of another format. */
  readonly files: { readonly files: number; readonly bytes: number; readonly missing: number } | null
  /** The callers whose ended and waiting runs take the most, the largest first; null in a database of another format. */
  readonly stored: readonly { readonly caller: string; readonly bytes: number }[] | null
  /** The problems, a sentence each; empty when all is well. */
  readonly problems: readonly string[]
}

const maxNamed = 20
const pageRows = 200

/** Looks at everything and changes nothing. Without a vault the runs are counted, and not opened. `current`: the tables have the format of this release. */
export function* checkTables(vault: Vault | null, current: boolean): Steps<TableReport> {
  const problems: string[] = []
  const damaged = vault === null ? [] : yield* openRuns(vault)
  if (damaged.length > 0)
    problems.push(`${damaged.length} of the runs cannot be read whole: something of them is damaged`)
  const questions = current ? yield* checkQuestions(vault) : null
  if (questions !== null && questions.damaged > 0) {
    problems.push(`${questions.damaged} of the questions cannot be read: something of them is damaged`)
  }
  if (current) problems.push(...(yield* strays()))
  const notifications = current ? yield* checkOutbox(vault) : null
  if (notifications !== null && notifications.damaged > 0) {
    problems.push(`${notifications.damaged} of the notifications cannot be read: something of them is damaged`)
  }
  return {
    runs: {
      unfinished: yield* number("SELECT count(*) AS n FROM runs WHERE finished_at IS NULL"),
      ended: yield* number("SELECT count(*) AS n FROM runs WHERE finished_at IS NOT NULL"),
    },
    events: yield* number(
      "SELECT coalesce(sum(last), 0) AS n FROM (SELECT max(last) AS last FROM events GROUP BY run) AS logs",
    ),
    cached_answers: yield* number("SELECT count(*) AS n FROM cache WHERE expires_at > 0"),
    oldest_run: yield* time("SELECT min(created_at) AS n FROM runs"),
    newest_run: yield* time("SELECT max(created_at) AS n FROM runs"),
    damaged_runs: damaged.length,
    damaged_run_ids: damaged.slice(0, maxNamed),
    questions,
    notifications,
    files: current ? yield* checkFiles() : null,
    stored: current ? yield* largestCallers() : null,
    problems,
  }
}

function* number(sql: string): Steps<number> {
  return (yield* get(sql))?.["n"] as number
}

function* time(sql: string): Steps<string | null> {
  const value = (yield* get(sql))?.["n"]
  return typeof value === "number" ? new Date(value).toISOString() : null
}

/** Rows that should have gone with their runs, or with the ends of these. */
function* strays(): Steps<string[]> {
  const problems: string[] = []
  for (const goes of ["with the run", "after the run", "at its end"] as const) {
    for (const { table, run } of tablesOfRun(goes)) {
      const alive = goes === "at its end" ? " AND finished_at IS NULL" : ""
      const count = yield* number(
        `SELECT count(*) AS n FROM ${table} AS rows_of WHERE NOT EXISTS (SELECT 1 FROM runs WHERE num = rows_of.${run}${alive})
         AND NOT EXISTS (SELECT 1 FROM leftovers WHERE leftovers.run = rows_of.${run})`,
      )
      if (count === 1) problems.push(`1 row of the table ${table} should have gone with its run`)
      else if (count > 1) problems.push(`${count} rows of the table ${table} should have gone with their runs`)
    }
  }
  return problems
}

function* checkFiles(): Steps<NonNullable<TableReport["files"]>> {
  return {
    files: yield* number("SELECT count(*) AS n FROM files"),
    bytes: Number(yield* number("SELECT coalesce(sum(bytes), 0) AS n FROM file_objects")),
    missing: 0,
  }
}

function* largestCallers(): Steps<{ caller: string; bytes: number }[]> {
  const rows = yield* all("SELECT caller, bytes FROM stored ORDER BY bytes DESC, caller LIMIT ?", maxNamed)
  return rows.map(({ caller, bytes }) => ({ caller: String(caller), bytes: Number(bytes) }))
}

/** The runs that cannot be read whole. */
function* openRuns(vault: Vault): Steps<string[]> {
  const reader = new LogReader(vault)
  const damaged: string[] = []
  for (let after = 0; ;) {
    const rows = yield* all("SELECT num, run_id FROM runs WHERE num > ? ORDER BY num LIMIT ?", after, pageRows)
    for (const row of rows) {
      if (!(yield* isWhole(reader, String(row["run_id"])))) damaged.push(String(row["run_id"]))
    }
    const last = rows.at(-1)
    if (last === undefined) return damaged
    after = last["num"] as number
  }
}

function* isWhole(reader: LogReader, run_id: string): Steps<boolean> {
  try {
    const head = yield* reader.head(run_id)
    // Retention was faster.
    if (head === undefined) return true
    yield* reader.request(run_id)
    for (let after = 0; ;) {
      const part = yield* reader.part(head, after, { events: 500, bytes: 8 * 1024 * 1024 })
      const last = (yield* reader.openWithKept(part)).at(-1)
      if (last === undefined) return true
      after = last.id
    }
  } catch (error) {
    if (error instanceof Damaged) return false
    if (error instanceof NoSuchRun && (yield* reader.lookup(run_id)).found !== "run") return true
    throw error
  } finally {
    reader.forget(run_id)
  }
}

/** Opens each question, with its answer. Without a vault they are counted. */
function* checkQuestions(vault: Vault | null): Steps<NonNullable<TableReport["questions"]>> {
  const open = yield* number("SELECT count(*) AS n FROM waits WHERE kind = 'question' AND status = 0")
  const settled = yield* number("SELECT count(*) AS n FROM waits WHERE kind = 'question' AND status <> 0")
  let damaged = 0
  if (vault === null) return { open, settled, damaged }
  const log = new LogReader(vault)
  const reader = new WaitReader(vault, log)
  for (let after = 0; ;) {
    const rows = yield* all("SELECT num FROM waits WHERE num > ? ORDER BY num LIMIT ?", after, pageRows)
    for (const { num } of rows) if (!(yield* opens(reader.read(num as number, 0)))) damaged++
    const last = rows.at(-1)
    if (last === undefined) return { open, settled, damaged }
    after = last["num"] as number
  }
}

function* opens(steps: Steps<unknown>): Steps<boolean> {
  try {
    yield* steps
    return true
  } catch (error) {
    if (error instanceof Damaged) return false
    throw error
  }
}

/** Opens each notification: its URL, and its last error. */
function* checkOutbox(vault: Vault | null): Steps<NonNullable<TableReport["notifications"]>> {
  const pending = yield* number("SELECT count(*) AS n FROM outbox WHERE status = 'pending'")
  const settled = yield* number("SELECT count(*) AS n FROM outbox WHERE status <> 'pending'")
  let damaged = 0
  let after: readonly SqlValue[] = ["", 0]
  while (vault !== null) {
    const rows: readonly Row[] = yield* all(
      "SELECT * FROM outbox WHERE (run_id, event_id) > (?, ?) ORDER BY run_id, event_id LIMIT ?",
      ...after,
      pageRows,
    )
    for (const row of rows) if (!isReadable(vault, row)) damaged++
    const last = rows.at(-1)
    if (last === undefined) break
    after = [last["run_id"] as string, last["event_id"] as number]
  }
  return { pending, settled, damaged }
}

function isReadable(vault: Vault, row: Row): boolean {
  try {
    openTaken(vault, row)
    return true
  } catch (error) {
    if (error instanceof Damaged) return false
    throw error
  }
}
