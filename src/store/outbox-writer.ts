import { DeliveryTurns, type CausedNotice, type Delivery, type DueNotice, type Notice } from "../ports/notices.ts"
import type { SettleNoticeOperation, TakeNoticesOperation } from "./operations.ts"
import { all, get, run, type Steps } from "./sql.ts"

/** An undelivered notice is deleted this long after its run was. */
const forgottenMs = 2 * 24 * 3_600_000

/** Stores the notice of an event, where the run notifies of it. */
export function* addNotice(num: number, { event_id, event, caused_at }: CausedNotice): Steps<void> {
  yield* run(
    `INSERT INTO outbox (run_id, event_id, caller, event, caused_at, status, attempts, due_at, url, receiver)
     SELECT run_id, ?1, caller, ?2, ?3, 'pending', 0, 0, notify, coalesce(notify_receiver, '') FROM runs
     WHERE num = ?4 AND notify IS NOT NULL AND notify_events LIKE ?5 ON CONFLICT DO NOTHING`,
    event_id,
    event,
    caused_at,
    num,
    `% ${event} %`,
  )
}

/** Which were taken; the rest of them is read. */
export function* takeNotices(operation: TakeNoticesOperation): Steps<Pick<Notice, "run_id" | "event_id">[]> {
  const { limit, now, due_at, receivers } = operation
  const due: DueNotice[] = []
  for (const { receiver, caller } of yield* deliveriesDue()) {
    const rows = yield* all(
      `SELECT run_id, event_id, due_at, receiver, caller FROM outbox INDEXED BY outbox_turns
       WHERE status = 'pending' AND receiver = ? AND caller = ? AND due_at <= ? ORDER BY due_at, run_id, event_id LIMIT ?`,
      receiver,
      caller,
      now,
      limit,
    )
    due.push(...(rows as unknown as DueNotice[]))
  }
  const taken = new DeliveryTurns(receivers ?? undefined).take(due, limit)
  for (const { run_id, event_id } of taken) {
    yield* run(
      "UPDATE outbox SET attempts = attempts + 1, due_at = ? WHERE run_id = ? AND event_id = ?",
      due_at,
      run_id,
      event_id,
    )
  }
  return taken.map(({ run_id, event_id }) => ({ run_id, event_id }))
}

/** Who has pending notices, and for which receivers: a step along the index for each, however many notices there are. */
function* deliveriesDue(): Steps<Delivery[]> {
  const found: Delivery[] = []
  let row = yield* get(
    `SELECT receiver, caller FROM outbox INDEXED BY outbox_turns WHERE status = 'pending' AND receiver IS NOT NULL
     ORDER BY receiver, caller LIMIT 1`,
  )
  while (row !== undefined) {
    const delivery = { receiver: row["receiver"] as string, caller: row["caller"] as string }
    found.push(delivery)
    row = yield* get(
      `SELECT receiver, caller FROM outbox INDEXED BY outbox_turns WHERE status = 'pending' AND (receiver, caller) > (?, ?)
       ORDER BY receiver, caller LIMIT 1`,
      delivery.receiver,
      delivery.caller,
    )
  }
  return found
}

export function* settleNotice(operation: SettleNoticeOperation): Steps<null> {
  const { run_id, event_id, attempts, status, due_at } = operation
  yield* run(
    `UPDATE outbox SET status = ?1, due_at = ?2, last_error = ?3
     WHERE run_id = ?4 AND event_id = ?5 AND status = 'pending' AND (attempts = ?6 OR ?1 = 'delivered')`,
    status,
    due_at,
    operation.blobs[0],
    run_id,
    event_id,
    attempts,
  )
  yield* run(
    `DELETE FROM outbox WHERE run_id = ?1 AND event_id = ?2 AND status <> 'pending'
     AND NOT EXISTS (SELECT 1 FROM runs WHERE run_id = ?1)`,
    run_id,
    event_id,
  )
  return null
}

/** Retention deletes the runs of these numbers, a JSON text. Pending notices stay until they are delivered or given up. */
export function* forgetNotices(runs: string): Steps<void> {
  yield* run(
    `DELETE FROM outbox WHERE status <> 'pending'
     AND run_id IN (SELECT run_id FROM runs WHERE num IN (SELECT value FROM json_each(?1)))`,
    runs,
  )
}

export function* sweepNotices(now: number, limit: number): Steps<number> {
  return yield* run(
    `DELETE FROM outbox WHERE (run_id, event_id) IN (
       SELECT run_id, event_id FROM outbox AS old WHERE status = 'pending' AND due_at <= ?1 AND caused_at <= ?1
       AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.run_id = old.run_id) LIMIT ?2)`,
    now - forgottenMs,
    limit,
  )
}
