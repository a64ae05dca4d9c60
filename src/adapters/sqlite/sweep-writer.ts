import type { DatabaseSync } from "node:sqlite"
import type { SweepOperation } from "./operations.ts"
import { forgetNotices, sweepNotices } from "./outbox-writer.ts"
import type { Row, Sql } from "./sql.ts"

/** Rows that one slice of a sweep deletes at most. */
const sweptRuns = 100
const sweptLeftovers = 300
export const sweptRows = 1_000

/** The numbers of a JSON text, the first value of a statement. */
const listed = "(SELECT value FROM json_each(?1))"

/** With its key gone, nothing of a run can be read any more; its events follow in slices of their own. */
export function sweepRuns(sql: Sql, { ended_before, tombstone_until }: SweepOperation): number {
  const runs = numbers(
    sql.all("SELECT num FROM runs WHERE finished_at < ? ORDER BY finished_at LIMIT ?", ended_before, sweptRuns),
    "num",
  )
  if (runs.length === 0) return 0
  const text = JSON.stringify(runs)
  sql.run(
    `INSERT OR REPLACE INTO tombstones (run_id, caller, until) SELECT run_id, caller, ?2 FROM runs WHERE num IN ${listed}`,
    text,
    tombstone_until,
  )
  sql.run(
    `UPDATE stored SET bytes = stored.bytes - freed.bytes
     FROM (SELECT caller, sum(bytes) AS bytes FROM runs WHERE num IN ${listed} GROUP BY caller) AS freed
     WHERE stored.caller = freed.caller`,
    text,
  )
  sql.run("DELETE FROM stored WHERE bytes <= 0")
  forgetNotices(sql, text)
  sql.run(`DELETE FROM questions WHERE run IN ${listed}`, text)
  sql.run(`INSERT INTO leftovers (run) SELECT value FROM json_each(?)`, text)
  sql.run(`DELETE FROM runs WHERE num IN ${listed}`, text)
  return runs.length
}

export function sweepLeftovers(sql: Sql, database: DatabaseSync): number {
  const runs = numbers(sql.all("SELECT run FROM leftovers LIMIT ?", sweptLeftovers), "run")
  if (runs.length === 0) return 0
  const text = JSON.stringify(runs)
  // What was sealed by a key that is gone need not be overwritten with zeros as well.
  database.exec("PRAGMA secure_delete = OFF")
  try {
    const { changes } = sql.run(
      `DELETE FROM events WHERE id IN (SELECT id FROM events WHERE run IN ${listed} LIMIT ?2)`,
      text,
      sweptRows,
    )
    const events = Number(changes)
    // There may be more of them.
    if (events === sweptRows) return events
    sql.run(`DELETE FROM requests WHERE run IN ${listed}`, text)
    sql.run(`DELETE FROM leftovers WHERE run IN ${listed}`, text)
    return events + runs.length
  } finally {
    database.exec("PRAGMA secure_delete = ON")
  }
}

function numbers(rows: readonly Row[], column: string): number[] {
  return rows.map((row) => row[column] as number)
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
