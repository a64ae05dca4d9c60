import { mostKeptEvents, rememberedMs, type Delivery, type EventAnswer } from "../ports/event-store.ts"
import type {
  CloseEventOperation,
  DeliverOperation,
  DropEventOperation,
  ReceiveEventOperation,
  ReceiveResult,
} from "./operations.ts"
import { get, insert, run, type Row, type Steps } from "./sql.ts"
import { settle } from "./wait-writer.ts"

// Events that callers send, each inside of a transaction of the writer.

/** Status numbers in the database. */
export const eventStatus = { arriving: 0, kept: 1, over: 2 } as const

/** Events that expire in one slice of a sweep. */
const sweptEvents = 1_000

export function* receiveEvent(operation: ReceiveEventOperation): Steps<ReceiveResult> {
  const { caller, received_at, keep_until } = operation
  const [id, fingerprint, place, body] = operation.blobs
  if (id !== null) {
    const known = yield* get(
      "SELECT num, fingerprint, status, delivered, was_kept FROM sent_events WHERE id = ? AND until > ?",
      id,
      received_at,
    )
    if (known !== undefined) {
      const same = Buffer.compare(known["fingerprint"] as Uint8Array, fingerprint) === 0
      if (!same) return { outcome: "conflict" }
      const answer = known["status"] === eventStatus.arriving ? null : answerIn(known)
      return { outcome: "known", number: known["num"] as number, answer }
    }
    yield* run("DELETE FROM sent_events WHERE id = ?", id)
  }
  if (keep_until !== null && (yield* keptBy(caller, received_at)) >= mostKeptEvents) {
    return { outcome: "full", of: "kept" }
  }
  const until = id === null ? (keep_until ?? received_at) : Math.max(keep_until ?? 0, received_at + rememberedMs)
  const number = yield* insert(
    `INSERT INTO sent_events (caller, id, fingerprint, place, status, last_wait, received_at, keep_until, until, body)
     VALUES (?, ?, ?, ?, ${eventStatus.arriving}, coalesce((SELECT max(num) FROM waits), 0), ?, ?, ?, ?)`,
    caller,
    id,
    fingerprint,
    place,
    received_at,
    keep_until,
    until,
    body,
  )
  return { outcome: "stored", number }
}

function* keptBy(caller: string, now: number): Steps<number> {
  const row = yield* get(
    "SELECT count(*) AS kept FROM sent_events WHERE caller = ? AND status <= 1 AND keep_until > ?",
    caller,
    now,
  )
  return row?.["kept"] as number
}

export function* deliver({ number, run: num, wait, now, blobs }: DeliverOperation): Steps<Delivery> {
  const event = yield* get("SELECT status, delivered, last_wait, keep_until FROM sent_events WHERE num = ?", number)
  if (event === undefined || event["status"] === eventStatus.over) return "gone"
  if ((event["delivered"] as number) > 0 && (yield* isLater(num, wait, event["last_wait"] as number))) return "gone"
  if (event["status"] === eventStatus.kept && (event["keep_until"] as number) <= now) return "gone"
  const settled = yield* settle({ kind: "settle", run: num, wait: ["event", wait], now, blobs })
  if (settled !== "stored") return "settled"
  yield* run(
    `UPDATE sent_events SET delivered = delivered + 1,
       body = CASE status WHEN ${eventStatus.kept} THEN NULL ELSE body END,
       status = CASE status WHEN ${eventStatus.kept} THEN ${eventStatus.over} ELSE status END WHERE num = ?`,
    number,
  )
  return "delivered"
}

/** Whether the wait was opened after the event had come. */
function* isLater(num: number, wait: string, last: number): Steps<boolean> {
  return (
    (yield* get("SELECT 1 AS later FROM waits WHERE run = ? AND id = ? AND num > ?", num, wait, last)) !== undefined
  )
}

export function* closeEvent({ number, forget, now }: CloseEventOperation): Steps<EventAnswer> {
  const event = yield* get("SELECT id, status, delivered, was_kept, keep_until FROM sent_events WHERE num = ?", number)
  if (event === undefined) return { delivered: 0, kept: false }
  if (event["status"] !== eventStatus.arriving) return answerIn(event)
  const delivered = event["delivered"] as number
  if (delivered === 0 && event["keep_until"] !== null && (event["keep_until"] as number) > now) {
    yield* run(`UPDATE sent_events SET status = ${eventStatus.kept}, was_kept = 1 WHERE num = ?`, number)
    return { delivered, kept: true }
  }
  if (event["id"] === null || (forget && delivered === 0)) {
    yield* run("DELETE FROM sent_events WHERE num = ?", number)
  } else yield* run(`UPDATE sent_events SET status = ${eventStatus.over}, body = NULL WHERE num = ?`, number)
  return { delivered, kept: false }
}

/** Whether it was there. Its id stays remembered. */
export function* dropEvent({ number }: DropEventOperation): Steps<boolean> {
  const changes = yield* run(
    `UPDATE sent_events SET status = ${eventStatus.over}, body = NULL WHERE num = ? AND status = ${eventStatus.kept}`,
    number,
  )
  return changes > 0
}

/** Those that were kept long enough hold nothing any more. */
export function* sweepEvents(now: number): Steps<number> {
  return yield* run(
    `UPDATE sent_events SET status = ${eventStatus.over}, body = NULL WHERE num IN
       (SELECT num FROM sent_events WHERE status = ${eventStatus.kept} AND keep_until <= ? LIMIT ?)`,
    now,
    sweptEvents,
  )
}

/** What the sender was told: that it was kept stays so when a wait takes it later. */
function answerIn(event: Row): EventAnswer {
  const kept = event["was_kept"] === 1
  return { delivered: kept ? 0 : (event["delivered"] as number), kept }
}
