import type { DatabaseSync } from "node:sqlite"
import type { SweepOperation } from "./operations.ts"
import { forgetNotices, sweepNotices } from "./outbox-writer.ts"
import type { Sql } from "./sql.ts"

/** Rows that one slice of a sweep deletes at most. */
const sweptRuns = 100
export const sweptRows = 1_000

/** With its key gone, nothing of a run can be read any more; its events follow in slices of their own. */
export function sweepRuns(sql: Sql, { ended_before, tombstone_until }: SweepOperation): number {
  const rows = sql.all(
    "SELECT num, run_id, caller FROM runs WHERE finished_at < ? ORDER BY finished_at LIMIT ?",
    ended_before,
    sweptRuns,
  )
  for (const { num, run_id, caller } of rows) {
    sql.run("DELETE FROM runs WHERE num = ?", num as number)
    sql.run("DELETE FROM questions WHERE run = ?", num as number)
    sql.run("INSERT INTO leftovers (run) VALUES (?)", num as number)
    forgetNotices(sql, run_id as string)
    sql.run(
      "INSERT OR REPLACE INTO tombstones (run_id, caller, until) VALUES (?, ?, ?)",
      run_id as string,
      caller as string,
      tombstone_until,
    )
  }
  return rows.length
}

export function sweepLeftovers(sql: Sql, database: DatabaseSync): number {
  // What was sealed by a key that is gone need not be overwritten with zeros as well.
  database.exec("PRAGMA secure_delete = OFF")
  try {
    let deleted = 0
    while (deleted < sweptRows) {
      const run = sql.get("SELECT run FROM leftovers LIMIT 1")?.["run"] as number | undefined
      if (run === undefined) break
      deleted += Number(
        sql.run(
          "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE run = ? LIMIT ?)",
          run,
          sweptRows - deleted,
        ).changes,
      )
      if (sql.get("SELECT 1 FROM events WHERE run = ? LIMIT 1", run) !== undefined) continue
      sql.run("DELETE FROM requests WHERE run = ?", run)
      sql.run("DELETE FROM leftovers WHERE run = ?", run)
      deleted++
    }
    return deleted
  } finally {
    database.exec("PRAGMA secure_delete = ON")
  }
}

/** Deletes what has expired: cache entries, tombstones, notices of deleted runs. */
export function sweepAges(sql: Sql, { now }: SweepOperation): number {
  const dead = sql.run(
    "DELETE FROM cache WHERE entry IN (SELECT entry FROM cache WHERE expires_at <= ? LIMIT ?)",
    now,
    sweptRows,
  )
  const forgotten = sql.run(
    "DELETE FROM tombstones WHERE run_id IN (SELECT run_id FROM tombstones WHERE until <= ? LIMIT ?)",
    now,
    sweptRows,
  )
  return Number(dead.changes) + Number(forgotten.changes) + sweepNotices(sql, now, sweptRows)
}
