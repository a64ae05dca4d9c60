import type { SQLInputValue } from "node:sqlite"
import type { AnswerOperation, AnswerResult, AppendedQuestions, ExpireOperation } from "./operations.ts"
import type { PreparedStatements } from "./prepared-statements.ts"

/** As the database has it. */
export const questionStatus = { open: 0, answered: 1, expired: 2, withdrawn: 3 } as const

/** Questions that one operation lets expire at most, so that appends do not wait long. */
const mostExpired = 1_000

/** Writes questions and their outcomes, and parks and wakes runs, each inside of a transaction of the `Writer`. */
export class QuestionWriter {
  readonly #statements: PreparedStatements

  constructor(statements: PreparedStatements) {
    this.#statements = statements
  }

  appended(run: number, { now, asked, taken, waits }: AppendedQuestions, blobs: readonly (Uint8Array | null)[]): void {
    for (const [index, { id, expires_at }] of asked.entries()) {
      const [body, addressee] = [blobs[2 * index] ?? null, blobs[2 * index + 1] ?? null]
      this.#run(
        `INSERT INTO questions (run, id, caller, addressee, expires_at, body)
         SELECT num, ?2, caller, ?3, ?4, ?5 FROM runs WHERE num = ?1`,
        run,
        id,
        addressee,
        expires_at,
        body,
      )
    }
    for (const id of taken) this.#run("UPDATE questions SET taken = 1 WHERE run = ? AND id = ?", run, id)
    if (waits) this.#park(run, now)
  }

  answer({ run, id, now, blobs: [answer] }: AnswerOperation): AnswerResult {
    const found = this.#statements
      .get("SELECT num, status, expires_at FROM questions WHERE run = ? AND id = ?")
      .get(run, id)
    if (found === undefined) return "unknown"
    if (found["status"] !== questionStatus.open) return "settled before"
    const num = found["num"] as number
    const late = (found["expires_at"] as number) <= now
    if (late) this.#run("UPDATE questions SET status = ? WHERE num = ?", questionStatus.expired, num)
    else {
      this.#run(
        "UPDATE questions SET status = ?, answered_at = ?, answer = ? WHERE num = ?",
        questionStatus.answered,
        now,
        answer,
        num,
      )
    }
    this.wake(run, now)
    return late ? "late" : "stored"
  }

  expire({ now }: ExpireOperation): string[] {
    const due = this.#statements
      .get(
        `SELECT questions.num, run, run_id FROM questions JOIN runs ON runs.num = run
       WHERE status = 0 AND questions.expires_at <= ? ORDER BY questions.expires_at LIMIT ?`,
      )
      .all(now, mostExpired)
    for (const { num, run } of due) {
      this.#run("UPDATE questions SET status = ? WHERE num = ?", questionStatus.expired, num as number)
      this.wake(run as number, now)
    }
    return due.map(({ run_id }) => run_id as string)
  }

  /** The run has ended: what is open expired before, or is withdrawn. */
  withdraw(run: number, now: number): void {
    this.#run(
      `UPDATE questions SET taken = 1, status = CASE WHEN status <> ${questionStatus.open} THEN status
         WHEN expires_at <= ?2 THEN ${questionStatus.expired} ELSE ${questionStatus.withdrawn} END
       WHERE run = ?1 AND (status = ${questionStatus.open} OR taken = 0)`,
      run,
      now,
    )
  }

  /** A parked run can be claimed from now on. False for one that is not parked. */
  wake(run: number, now: number): boolean {
    return this.#run("UPDATE runs SET waiting = 0, woken_at = ?2 WHERE num = ?1 AND waiting = 1", run, now) > 0
  }

  #park(run: number, now: number): void {
    this.#run(
      `UPDATE runs SET fence = fence + 1, owner = NULL, holder = NULL, lease_until = 0, resumable = 1, waiting = 1
       WHERE num = ?`,
      run,
    )
    const news = this.#statements
      .get(
        `SELECT 1 FROM runs WHERE num = ?1 AND (cancel_requested = 1
         OR EXISTS (SELECT 1 FROM questions WHERE run = ?1 AND status <> 0 AND taken = 0))`,
      )
      .get(run)
    if (news !== undefined) this.wake(run, now)
  }

  #run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#statements.get(sql).run(...values).changes)
  }
}
