import { ReceiverCounts, type CausedNotice } from "../../ports/notices.ts"
import type { ResultOf, SettleNoticeOperation, TakeNoticesOperation } from "./operations.ts"
import type { Sql } from "./sql.ts"

/** An undelivered notice is deleted this long after its run was. */
const forgottenMs = 2 * 24 * 3_600_000

/** Stores the notice of an event, where the run notifies of it. */
export function addNotice(sql: Sql, num: number, { event_id, event, caused_at }: CausedNotice): void {
  sql.run(
    `INSERT OR IGNORE INTO outbox (run_id, event_id, caller, event, caused_at, status, attempts, due_at, url, receiver)
     SELECT run_id, ?1, caller, ?2, ?3, 'pending', 0, 0, notify, notify_receiver FROM runs
     WHERE num = ?4 AND notify IS NOT NULL AND instr(notify_events, ' ' || ?2 || ' ') > 0`,
    event_id,
    event,
    caused_at,
    num,
  )
}

export function takeNotices(sql: Sql, operation: TakeNoticesOperation): ResultOf<TakeNoticesOperation> {
  const { limit, now, due_at, most_per_receiver: most, busy } = operation
  const counts = new ReceiverCounts(most === null ? undefined : { most, busy: new Map(busy) })
  const taken: { readonly run_id: string; readonly event_id: number }[] = []
  while (taken.length < limit) {
    // Taken notices are not due any more, and receivers that have reached their share are skipped: each round takes at least one.
    const rows = sql.all(
      `SELECT run_id, event_id, ifnull(receiver, '') AS receiver FROM outbox
       WHERE status = 'pending' AND due_at <= ? AND ifnull(receiver, '') NOT IN (SELECT value FROM json_each(?))
       ORDER BY due_at LIMIT ?`,
      now,
      JSON.stringify(counts.full()),
      limit - taken.length,
    )
    if (rows.length === 0) break
    for (const row of rows) {
      if (!counts.add(row["receiver"] as string)) continue
      const [run_id, event_id] = [row["run_id"] as string, row["event_id"] as number]
      sql.run(
        "UPDATE outbox SET attempts = attempts + 1, due_at = ? WHERE run_id = ? AND event_id = ?",
        due_at,
        run_id,
        event_id,
      )
      taken.push({ run_id, event_id })
    }
  }
  return taken
}

export function settleNotice(sql: Sql, operation: SettleNoticeOperation): null {
  const { run_id, event_id, attempts, status, due_at } = operation
  sql.run(
    `UPDATE outbox SET status = ?1, due_at = ?2, last_error = ?3
     WHERE run_id = ?4 AND event_id = ?5 AND status = 'pending' AND (attempts = ?6 OR ?1 = 'delivered')`,
    status,
    due_at,
    operation.blobs[0],
    run_id,
    event_id,
    attempts,
  )
  sql.run(
    `DELETE FROM outbox WHERE run_id = ?1 AND event_id = ?2 AND status <> 'pending'
     AND NOT EXISTS (SELECT 1 FROM runs WHERE run_id = ?1)`,
    run_id,
    event_id,
  )
  return null
}

/** Retention deletes the runs of these numbers, a JSON text. Pending notices stay until they are delivered or given up. */
export function forgetNotices(sql: Sql, runs: string): void {
  sql.run(
    `DELETE FROM outbox WHERE status <> 'pending'
     AND run_id IN (SELECT run_id FROM runs WHERE num IN (SELECT value FROM json_each(?)))`,
    runs,
  )
}

export function sweepNotices(sql: Sql, now: number, limit: number): number {
  const { changes } = sql.run(
    `DELETE FROM outbox WHERE (run_id, event_id) IN (
       SELECT run_id, event_id FROM outbox AS old WHERE status = 'pending' AND due_at <= ?1 AND caused_at <= ?1
       AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.run_id = old.run_id) LIMIT ?2)`,
    now - forgottenMs,
    limit,
  )
  return Number(changes)
}
