import type { Deletion } from "../ports/store.ts"
import { sweepEvents } from "./event-writer.ts"
import { dropFilesOf, forgetUses, sweepFiles } from "./file-writer.ts"
import { tableRules, tablesErasedAtOnce, tablesOfRun } from "./left-behind.ts"
import type { DeleteOperation, SweepOperation } from "./operations.ts"
import { forgetNotices, sweepNotices } from "./outbox-writer.ts"
import { all, get, run, type Row, type Steps } from "./sql.ts"

/** Rows that one slice of a sweep deletes at most. */
const sweptRuns = 100
const sweptLeftovers = 300
const sweptRows = 1_000

/** The numbers of a JSON text, the first value of a statement. */
const listed = "(SELECT value FROM json_each(?1))"

export function* sweepRuns({ ended_before, tombstone_until }: SweepOperation): Steps<number> {
  const runs = numbers(
    yield* all("SELECT num FROM runs WHERE finished_at < ? ORDER BY finished_at LIMIT ?", ended_before, sweptRuns),
    "num",
  )
  if (runs.length > 0) yield* deleteRuns(runs, tombstone_until)
  return runs.length
}

/** Deletes all that private runs were given and made. What finds them, and how they went, stays. */
export function* redactRuns({ ended_before, now }: SweepOperation): Steps<number> {
  const found = yield* all(
    "SELECT num FROM runs WHERE private = 1 AND finished_at < ? ORDER BY finished_at LIMIT ?",
    ended_before,
    sweptRuns,
  )
  if (found.length === 0) return 0
  const text = JSON.stringify(numbers(found, "num"))
  yield* dropFilesOf(listed, text, now)
  yield* freeBytes(text)
  yield* forgetNotices(text)
  yield* forgetUses(listed, text)
  for (const table of ["file_refs", "waits"]) yield* run(`DELETE FROM ${table} WHERE run IN ${listed}`, text)
  yield* leaveOver(text)
  yield* run(
    `UPDATE runs SET private = 0, redacted_at = ?2, bytes = 0, condemned = NULL, preview = NULL, end_preview = NULL
     WHERE num IN ${listed}`,
    text,
    now,
  )
  return found.length
}

/** What the runs of each caller take is less by these. */
function* freeBytes(runs: string): Steps<void> {
  yield* run(
    `UPDATE stored SET bytes = stored.bytes - freed.bytes
     FROM (SELECT caller, sum(bytes) AS bytes FROM runs WHERE num IN ${listed} GROUP BY caller) AS freed
     WHERE stored.caller = freed.caller`,
    runs,
  )
  yield* run("DELETE FROM stored WHERE bytes <= 0")
}

/** Their events and requests follow in slices of their own. */
function* leaveOver(runs: string): Steps<void> {
  yield* run(
    `INSERT INTO leftovers (run) SELECT num FROM runs WHERE num IN ${listed} AND num NOT IN (SELECT run FROM leftovers)`,
    runs,
  )
}

export function* deleteRun({ run_id, tombstone_until, erased_at }: DeleteOperation): Steps<Deletion> {
  const row = yield* get("SELECT num, finished_at FROM runs WHERE run_id = ?", run_id)
  if (row === undefined) return "gone"
  if (row["finished_at"] === null) return "open"
  yield* deleteRuns(numbers([row], "num"), tombstone_until, erased_at)
  yield* run("DELETE FROM kept_outputs WHERE run_id = ?", run_id)
  return "deleted"
}

/** With its key gone, nothing of a run can be read any more; its events follow in slices of their own. Its shadows go with it, open ones too. */
function* deleteRuns(
  shadowed: readonly number[],
  tombstone_until: number,
  erased_at: number | null = null,
): Steps<void> {
  const shadows = yield* all(
    `SELECT num FROM runs WHERE shadow_of IN (SELECT run_id FROM runs WHERE num IN ${listed})`,
    JSON.stringify(shadowed),
  )
  const runs = [...new Set([...shadowed, ...numbers(shadows, "num")])]
  const text = JSON.stringify(runs)
  yield* run(
    `INSERT INTO tombstones (run_id, caller, until, erased_at) SELECT run_id, caller, ?2, ?3 FROM runs WHERE num IN ${listed}
     ON CONFLICT (run_id) DO UPDATE SET caller = excluded.caller, until = excluded.until, erased_at = excluded.erased_at`,
    text,
    tombstone_until,
    erased_at,
  )
  if (erased_at !== null) yield* eraseMore(text, erased_at)
  yield* freeBytes(text)
  yield* forgetNotices(text)
  yield* forgetUses(listed, text)
  for (const { table, run: column } of tablesOfRun("with the run")) {
    yield* run(`DELETE FROM ${table} WHERE ${column} IN ${listed}`, text)
  }
  yield* leaveOver(text)
  yield* run(`DELETE FROM runs WHERE num IN ${listed}`, text)
}

/** What a deletion leaves to its own time. */
function* eraseMore(runs: string, now: number): Steps<void> {
  yield* dropFilesOf(listed, runs, now)
  for (const { table, of } of tablesErasedAtOnce) {
    yield* run(`DELETE FROM ${table} WHERE ${of} IN (SELECT ${of} FROM runs WHERE num IN ${listed})`, runs)
  }
}

export function* sweepLeftovers(): Steps<number> {
  const runs = numbers(yield* all("SELECT run FROM leftovers LIMIT ?", sweptLeftovers), "run")
  if (runs.length === 0) return 0
  const text = JSON.stringify(runs)
  let deleted = 0
  for (const { table, key, run: column } of tablesOfRun("after the run")) {
    const rows = yield* run(
      `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${column} IN ${listed} LIMIT ?2)`,
      text,
      sweptRows,
    )
    deleted += rows
    // There may be more of them.
    if (rows === sweptRows) return deleted
  }
  yield* run(`DELETE FROM leftovers WHERE run IN ${listed}`, text)
  return deleted + runs.length
}

function numbers(rows: readonly Row[], column: string): number[] {
  return rows.map((row) => row[column] as number)
}

/** Deletes what has expired: cache entries, tombstones, keys, notices of deleted runs. */
export function* sweepAges({ now }: SweepOperation): Steps<number> {
  let dead = 0
  for (const { table, key, until } of tableRules) {
    if (until === undefined) continue
    const sql = `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${until} <= ? LIMIT ?)`
    dead += yield* run(sql, now, sweptRows)
  }
  dead += yield* sweepEvents(now)
  dead += yield* sweepFiles(now)
  return dead + (yield* sweepNotices(now, sweptRows))
}
