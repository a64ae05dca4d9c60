import type { AnswerOperation, AnswerResult, AppendedQuestions, ExpireOperation } from "./operations.ts"
import { all, get, run, type Steps } from "./sql.ts"

// Questions and their outcomes, and runs that are parked and woken, each inside of a transaction of the writer.

/** As the database has it. */
export const questionStatus = { open: 0, answered: 1, expired: 2, withdrawn: 3 } as const

/** Questions that one operation lets expire at most, so that appends do not wait long. */
const maxExpired = 1_000

export function* addQuestions(
  num: number,
  { now, asked, taken, waits }: AppendedQuestions,
  blobs: readonly (Uint8Array | null)[],
): Steps<void> {
  for (const [index, { id, expires_at }] of asked.entries()) {
    const [body, addressee] = [blobs[2 * index] ?? null, blobs[2 * index + 1] ?? null]
    yield* run(
      `INSERT INTO questions (run, id, caller, addressee, expires_at, body)
       SELECT num, ?2, caller, ?3, ?4, ?5 FROM runs WHERE num = ?1`,
      num,
      id,
      addressee,
      expires_at,
      body,
    )
  }
  for (const id of taken) yield* run("UPDATE questions SET taken = 1 WHERE run = ? AND id = ?", num, id)
  if (waits) yield* park(num, now)
}

export function* answer({ run: num, id, now, blobs: [sealed] }: AnswerOperation): Steps<AnswerResult> {
  const found = yield* get("SELECT num, status, expires_at FROM questions WHERE run = ? AND id = ?", num, id)
  if (found === undefined) return "unknown"
  if (found["status"] !== questionStatus.open) return "settled before"
  const question = found["num"] as number
  const late = (found["expires_at"] as number) <= now
  if (late) yield* run("UPDATE questions SET status = ? WHERE num = ?", questionStatus.expired, question)
  else {
    yield* run(
      "UPDATE questions SET status = ?, answered_at = ?, answer = ? WHERE num = ?",
      questionStatus.answered,
      now,
      sealed,
      question,
    )
  }
  yield* wake(num, now)
  return late ? "late" : "stored"
}

/** The ids of their runs. */
export function* expire({ now }: ExpireOperation): Steps<string[]> {
  const due = yield* all(
    `SELECT questions.num, run, run_id FROM questions JOIN runs ON runs.num = run
     WHERE status = 0 AND questions.expires_at <= ? ORDER BY questions.expires_at LIMIT ?`,
    now,
    maxExpired,
  )
  for (const { num, run: of } of due) {
    yield* run("UPDATE questions SET status = ? WHERE num = ?", questionStatus.expired, num as number)
    yield* wake(of as number, now)
  }
  return due.map(({ run_id }) => run_id as string)
}

/** The run has ended: what is open expired before, or is withdrawn. */
export function* withdraw(num: number, now: number): Steps<void> {
  yield* run(
    `UPDATE questions SET taken = 1, status = CASE WHEN status <> ${questionStatus.open} THEN status
       WHEN expires_at <= ?2 THEN ${questionStatus.expired} ELSE ${questionStatus.withdrawn} END
     WHERE run = ?1 AND (status = ${questionStatus.open} OR taken = 0)`,
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
       OR EXISTS (SELECT 1 FROM questions WHERE run = ?1 AND status <> 0 AND taken = 0))`,
    num,
  )
  if (news !== undefined) yield* wake(num, now)
}
