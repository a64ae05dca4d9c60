import { existsSync, statSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { Damaged } from "../../ports/store.ts"
import { missingKey, type Vault } from "../../ports/vault.ts"
import { countHolders } from "./holder.ts"
import { LogReader } from "./log-reader.ts"
import { keySentence, readKeyRecord } from "./open-database.ts"
import { openTaken } from "./outbox-reader.ts"
import { QuestionReader } from "./question-reader.ts"
import { applicationId, currentVersion, readNumber, whyNotOpened } from "./schema.ts"
import { sentenceFor } from "./sqlite-error.ts"
import { countUnderOldKey } from "./under-old-key.ts"
import { readLogFile } from "./write-ahead-log.ts"

export interface StoreReport {
  readonly path: string
  readonly bytes: number
  /** Processes that have it open. */
  readonly open_by: number
  readonly format: number
  readonly runs: { readonly unfinished: number; readonly ended: number }
  readonly events: number
  readonly cached_answers: number
  /** ISO times of creation; null without runs. */
  readonly oldest_run: string | null
  readonly newest_run: string | null
  /** Runs with unreadable data, the first of them by id. */
  readonly damaged_runs: number
  readonly damaged_run_ids: readonly string[]
  /** Runs and notices that need WIRE_ENCRYPTION_KEY_OLD; null where that cannot be known. */
  readonly under_old_key: number | null
  /** Questions to people; null in a database of another format. */
  readonly questions: { readonly open: number; readonly settled: number; readonly damaged: number } | null
  /** Notifications in the outbox; null in a database of another format. */
  readonly notifications: { readonly pending: number; readonly settled: number; readonly damaged: number } | null
  /** The callers whose ended and waiting runs take the most, the largest first; null in a database of another format. */
  readonly stored: readonly { readonly caller: string; readonly bytes: number }[] | null
  /** The problems, a sentence each; empty when all is well. */
  readonly problems: readonly string[]
}

const mostNamed = 20

/**
 * Looks at everything and changes nothing, whether or not a service has the database open. Without a vault the runs are
 * counted, and not opened.
 */
export function checkStore(path: string, vault: Vault | null): StoreReport {
  const problems: string[] = []
  const open_by = countHolders(path).living
  if (open_by === 0) {
    const log = readLogFile(`${path}-wal`)
    if (log !== null && log.lost > 0) problems.push(logProblem(path, log.lost))
  }
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  try {
    if (readNumber(database, "PRAGMA application_id") !== applicationId) {
      throw new Damaged(`${path} is not a database of this service`)
    }
    const format = readNumber(database, "PRAGMA user_version")
    if (format !== currentVersion) {
      const refused = whyNotOpened(path, format) ?? `${path} has format ${format}, this release has ${currentVersion}`
      problems.push(`${refused}. Only its pages were checked`)
    }
    for (const row of database.prepare("PRAGMA integrity_check(20)").all()) {
      const problem = String(Object.values(row)[0])
      if (problem !== "ok") problems.push(`A page is damaged: ${problem}`)
    }
    const number = (sql: string): number => readNumber(database, sql)
    const time = (sql: string): string | null => {
      const value = Object.values(database.prepare(sql).get() ?? {})[0]
      return typeof value === "number" ? new Date(value).toISOString() : null
    }
    const record = format === currentVersion ? readKeyRecord(database) : null
    const missing = vault === null || record === null ? "both" : missingKey(record, vault.marks)
    if (vault !== null && missing !== null && format === currentVersion)
      problems.push(`${keySentence(path, missing)}: its runs were not opened`)
    const openable = vault !== null && missing === null && format === currentVersion
    if (openable) vault.agree(record, "begin")
    const damaged = openable ? damagedRuns(database, path, vault) : []
    if (damaged.length > 0)
      problems.push(`${damaged.length} of the runs cannot be read whole: something of them is damaged`)
    const questions = format === currentVersion ? checkQuestions(database, path, openable ? vault : null) : null
    if (questions !== null && questions.damaged > 0) {
      problems.push(`${questions.damaged} of the questions cannot be read: something of them is damaged`)
    }
    const notifications = format === currentVersion ? checkOutbox(database, openable ? vault : null) : null
    if (notifications !== null && notifications.damaged > 0) {
      problems.push(`${notifications.damaged} of the notifications cannot be read: something of them is damaged`)
    }
    return {
      path,
      bytes: statSync(path).size + (existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0),
      open_by,
      format,
      runs: {
        unfinished: number("SELECT count(*) FROM runs WHERE finished_at IS NULL"),
        ended: number("SELECT count(*) FROM runs WHERE finished_at IS NOT NULL"),
      },
      events: number("SELECT ifnull(sum(last), 0) FROM (SELECT max(last) AS last FROM events GROUP BY run)"),
      cached_answers: number("SELECT count(*) FROM cache WHERE expires_at > 0"),
      oldest_run: time("SELECT min(created_at) FROM runs"),
      newest_run: time("SELECT max(created_at) FROM runs"),
      under_old_key: openable ? countUnderOldKey(database, vault) : null,
      damaged_runs: damaged.length,
      damaged_run_ids: damaged.slice(0, mostNamed),
      questions,
      notifications,
      stored: format === currentVersion ? largestCallers(database) : null,
      problems,
    }
  } finally {
    database.close()
  }
}

function largestCallers(database: DatabaseSync): { caller: string; bytes: number }[] {
  const rows = database.prepare("SELECT caller, bytes FROM stored ORDER BY bytes DESC, caller LIMIT ?").all(mostNamed)
  return rows.map(({ caller, bytes }) => ({ caller: String(caller), bytes: Number(bytes) }))
}

export function logProblem(path: string, lost: number): string {
  const what = lost === 1 ? "1 transaction" : `${lost} transactions`
  return `${path}-wal is damaged: ${what} behind the damage cannot be read, so that newer runs and events are missing`
}

function damagedRuns(database: DatabaseSync, path: string, vault: Vault): string[] {
  const reader = new LogReader(database, path, vault)
  const damaged: string[] = []
  for (const { run_id } of database.prepare("SELECT run_id FROM runs ORDER BY num").all()) {
    if (!isWhole(reader, String(run_id))) damaged.push(String(run_id))
  }
  return damaged
}

function isWhole(reader: LogReader, run_id: string): boolean {
  try {
    const head = reader.head(run_id)
    // Retention was faster.
    if (head === undefined) return true
    reader.request(run_id)
    for (let after = 0; ;) {
      const last = reader.pageWithKept(head, after, { events: 500, bytes: 8 * 1024 * 1024 }).at(-1)
      if (last === undefined) return true
      after = last.id
    }
  } catch (error) {
    if (error instanceof Damaged) return false
    throw error
  } finally {
    reader.forget(run_id)
  }
}

/** Opens each question, with its answer. Without a vault they are counted. */
function checkQuestions(
  database: DatabaseSync,
  path: string,
  vault: Vault | null,
): NonNullable<StoreReport["questions"]> {
  const open = readNumber(database, "SELECT count(*) FROM questions WHERE status = 0")
  const settled = readNumber(database, "SELECT count(*) FROM questions WHERE status <> 0")
  if (vault === null) return { open, settled, damaged: 0 }
  const log = new LogReader(database, path, vault)
  const reader = new QuestionReader(database, path, vault, log)
  const sql = "SELECT run_id, id FROM questions JOIN runs ON runs.num = questions.run"
  let damaged = 0
  for (const { run_id, id } of database.prepare(sql).iterate()) {
    if (!opens(() => reader.one(String(run_id), String(id), 0))) damaged++
    log.forget(String(run_id))
  }
  return { open, settled, damaged }
}

/** Opens each notification: its URL, and its last error. */
function checkOutbox(database: DatabaseSync, vault: Vault | null): NonNullable<StoreReport["notifications"]> {
  const pending = readNumber(database, "SELECT count(*) FROM outbox WHERE status = 'pending'")
  const settled = readNumber(database, "SELECT count(*) FROM outbox WHERE status <> 'pending'")
  let damaged = 0
  if (vault !== null) {
    for (const row of database.prepare("SELECT * FROM outbox").iterate()) {
      if (!opens(() => openTaken(vault, row))) damaged++
    }
  }
  return { pending, settled, damaged }
}

function opens(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch (error) {
    if (error instanceof Damaged) return false
    throw error
  }
}

/** Why a store cannot be checked. */
export function checkRefusal(path: string, error: unknown): string {
  return error instanceof Damaged ? error.message : sentenceFor(path, error)
}
