import type { AppendedWaits, SettleDueOperation, SettleOperation, SettleResult } from "./operations.ts"
import { alarmKinds } from "../ports/waits.ts"
import { all, get, run, type Steps } from "./sql.ts"

// Waits and their outcomes, and runs that are parked and woken, each inside of a transaction of the writer.

/** Status numbers in the database. */
export const waitStatus = { open: 0, settled: 1, due: 2, withdrawn: 3 } as const

const alarms = alarmKinds.map((kind) => `'${kind}'`).join(", ")

/** Waits that one operation finds due at most, so that appends do not wait long. */
const mostDue = 1_000

export function* addWaits(
  num: number,
  { now, opened, taken, withdrawn, disarms, parks }: AppendedWaits,
  blobs: readonly (Uint8Array | null)[],
): Steps<void> {
  if (disarms) yield* run(`DELETE FROM waits WHERE run = ? AND kind IN (${alarms})`, num)
  for (const [index, { kind, id, opened_at, due_at }] of opened.entries()) {
    const [body, key] = [blobs[2 * index] ?? null, blobs[2 * index + 1] ?? null]
    yield* run(
      `INSERT INTO waits (run, id, kind, caller, key, opened_at, due_at, body)
       SELECT num, ?2, ?3, caller, ?4, ?5, ?6, ?7 FROM runs WHERE num = ?1`,
      num,
      id,
      kind,
      key,
      opened_at,
      due_at,
      body,
    )
  }
  // The run itself may have seen that a time has come.
  for (const id of taken) {
    yield* run(
      `UPDATE waits SET taken = 1, settled_at = coalesce(settled_at, ?3),
         status = CASE status WHEN ${waitStatus.open} THEN ${waitStatus.due} ELSE status END WHERE run = ?1 AND id = ?2`,
      num,
      id,
      now,
    )
  }
  for (const id of withdrawn) {
    const { open, withdrawn: status } = waitStatus
    yield* run(
      "UPDATE waits SET taken = 1, settled_at = ?, status = ? WHERE run = ? AND id = ? AND status = ?",
      now,
      status,
      num,
      id,
      open,
    )
  }
  if (parks) yield* park(num, now)
}

/** Whether all waits that are to be withdrawn are open still. */
export function* areOpen(num: number, { withdrawn, now }: AppendedWaits): Steps<boolean> {
  for (const id of withdrawn) {
    const found = yield* get("SELECT status, due_at FROM waits WHERE run = ? AND id = ?", num, id)
    if (found?.["status"] !== waitStatus.open || (found["due_at"] as number) <= now) return false
  }
  return true
}

export function* settle({ run: num, wait: [kind, id], now, blobs: [sealed] }: SettleOperation): Steps<SettleResult> {
  const found = yield* get("SELECT num, kind, status, due_at FROM waits WHERE run = ? AND id = ?", num, id)
  if (found === undefined || found["kind"] !== kind) return "unknown"
  if (found["status"] !== waitStatus.open) return "settled before"
  const isLate = (found["due_at"] as number) <= now
  yield* run(
    "UPDATE waits SET status = ?, settled_at = ?, outcome = ? WHERE num = ?",
    isLate ? waitStatus.due : waitStatus.settled,
    now,
    isLate ? null : sealed,
    found["num"] as number,
  )
  yield* wake(num, now)
  return isLate ? "late" : "stored"
}

/** The ids of their runs. */
export function* settleDue({ now }: SettleDueOperation): Steps<string[]> {
  const due = yield* all(
    `SELECT waits.num, run, run_id, due_at FROM waits JOIN runs ON runs.num = run
     WHERE status = 0 AND due_at <= ? ORDER BY due_at LIMIT ?`,
    now,
    mostDue,
  )
  for (const { num, run: of, due_at } of due) {
    yield* run("UPDATE waits SET status = ?, settled_at = ? WHERE num = ?", waitStatus.due, now, num as number)
    // Runs are claimed in the order of their times.
    yield* wake(of as number, due_at as number)
  }
  return due.map(({ run_id }) => run_id as string)
}

/** The run has ended: what is open was due before, or is withdrawn. */
export function* withdraw(num: number, now: number): Steps<void> {
  yield* run(
    `UPDATE waits SET taken = 1, status = CASE WHEN status <> ${waitStatus.open} THEN status
       WHEN due_at <= ?2 THEN ${waitStatus.due} ELSE ${waitStatus.withdrawn} END
     WHERE run = ?1 AND (status = ${waitStatus.open} OR taken = 0)`,
    num,
    now,
  )
}

/** A parked run can be claimed from now on. False for one that is not parked. */
export function* wake(num: number, now: number): Steps<boolean> {
  return (yield* run("UPDATE runs SET waiting = 0, woken_at = ?2 WHERE num = ?1 AND waiting = 1", num, now)) > 0
}

function* park(num: number, now: number): Steps<void> {
  yield* run(
    `UPDATE runs SET fence = fence + 1, owner = NULL, holder = NULL, lease_until = 0, waiting = 1 WHERE num = ?`,
    num,
  )
  const news = yield* get(
    `SELECT 1 AS news FROM runs WHERE num = ?1 AND (cancel_requested = 1
       OR EXISTS (SELECT 1 FROM waits WHERE run = ?1 AND status <> 0 AND taken = 0))`,
    num,
  )
  if (news !== undefined) yield* wake(num, now)
}
