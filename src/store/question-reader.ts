import type { Question } from "../log/events.ts"
import { isFor, type InboxQuery, type StoredOutcome, type WaitingCounts } from "../ports/question-store.ts"
import { Damaged } from "../ports/store.ts"
import type { Vault } from "../ports/vault.ts"
import type { LogReader } from "./log-reader.ts"
import { questionStatus } from "./question-writer.ts"
import { openAnswer, openQuestion, storedStatus } from "./sealed-questions.ts"
import { all, get, type Row, type SqlValue, type Steps } from "./sql.ts"

const columns = "questions.num, run_id, id, status, questions.expires_at, answered_at, body, answer"
const joined = "FROM questions JOIN runs ON runs.num = questions.run"
const fromQuestions = `SELECT ${columns} ${joined}`
/** Reads no content, however large. */
const sizes = `SELECT questions.num, length(body) + coalesce(length(answer), 0) AS bytes ${joined}`

/** A question that has not been read. */
export interface StoredQuestion {
  readonly num: number
  /** Of question and answer, sealed. */
  readonly bytes: number
}

/** Reads questions, and opens them. */
export class QuestionReader {
  readonly #vault: Vault
  readonly #log: LogReader

  constructor(vault: Vault, log: LogReader) {
    this.#vault = vault
    this.#log = log
  }

  *ofRun(run_id: string, limit: number, after: number): Steps<StoredQuestion[]> {
    const sql = `${sizes} WHERE run_id = ? AND questions.num > ? ORDER BY questions.num LIMIT ?`
    return yield* sizesOf(sql, run_id, after, limit)
  }

  *one(run_id: string, id: string, now: number): Steps<Question | null> {
    const row = yield* get(`${fromQuestions} WHERE run_id = ? AND id = ?`, run_id, id)
    return yield* this.#opened(row, now)
  }

  /** Null: retention was faster. */
  *read(num: number, now: number): Steps<Question | null> {
    const row = yield* get(`${fromQuestions} WHERE questions.num = ?`, num)
    return yield* this.#opened(row, now)
  }

  /** The questions with an outcome that the log does not show. */
  *outcomes(run_id: string): Steps<StoredQuestion[]> {
    return yield* sizesOf(`${sizes} WHERE run_id = ? AND status <> 0 AND taken = 0 ORDER BY questions.num`, run_id)
  }

  *outcome(num: number): Steps<StoredOutcome | null> {
    const row = yield* get(`SELECT run_id, id, status, answer ${joined} WHERE questions.num = ?`, num)
    const head = row === undefined ? undefined : yield* this.#log.head(row["run_id"] as string)
    if (row === undefined || head === undefined) return null
    const [id, status] = [row["id"] as string, storedStatus(row)]
    if (status === "open") return null
    return status === "answered" ? { id, status, ...openAnswer(head.key, id, row["answer"]) } : { id, status }
  }

  *inbox(query: InboxQuery, now: number, after: number): Steps<StoredQuestion[]> {
    const parts = this.#parts(query)
    const found: StoredQuestion[] = []
    for (const { where, values } of parts) found.push(...(yield* inboxPart(where, values, query, now, after)))
    return found.toSorted((a, b) => a.num - b.num)
  }

  /** Each part is read along one index: the questions to each group, and those of the caller's own runs. */
  #parts({ caller, groups, member_of, to }: InboxQuery): { where: string; values: SqlValue[] }[] {
    const asked = member_of.filter((group) => to === null || to === group)
    const parts = asked.map((group) => ({ where: "addressee = ?", values: [this.addressee(group)] as SqlValue[] }))
    if (to !== null && groups.includes(to)) return parts
    const others = groups.map(() => "?").join(", ")
    const own =
      to === null
        ? {
            where: `questions.caller = ?${others === "" ? "" : ` AND (addressee IS NULL OR addressee NOT IN (${others}))`}`,
            values: [caller, ...groups.map((group) => this.addressee(group))],
          }
        : { where: "questions.caller = ? AND addressee = ?", values: [caller, this.addressee(to)] }
    return [...parts, own]
  }

  /** The earliest expiry of an open question has come. */
  *isDue(now: number): Steps<boolean> {
    const due = yield* get("SELECT 1 AS due FROM questions WHERE status = 0 AND expires_at <= ? LIMIT 1", now)
    return due !== undefined
  }

  /**
   * Runs with a new outcome that no process has taken in yet. Looked for again and again, so the index is named: a `UNION`
   * of both would read every run there is, to sort them.
   */
  *newsOfRuns(): Steps<string[]> {
    const rows = yield* all(
      `SELECT run_id FROM runs WHERE num IN (SELECT run FROM questions WHERE status <> 0 AND taken = 0)
       UNION ALL SELECT run_id FROM runs INDEXED BY runs_woken WHERE woken_at IS NOT NULL`,
    )
    return [...new Set(rows.map(({ run_id }) => run_id as string))]
  }

  *waiting(caller: string): Steps<number> {
    const row = yield* get("SELECT count(*) AS waiting FROM runs WHERE caller = ? AND waiting = 1", caller)
    return row?.["waiting"] as number
  }

  *waitingCounts(now: number): Steps<WaitingCounts> {
    const parked = yield* get("SELECT count(*) AS runs FROM runs INDEXED BY runs_waiting WHERE waiting = 1")
    const open = yield* get(
      "SELECT count(*) AS questions, min(num) AS oldest FROM questions INDEXED BY questions_due WHERE status = 0",
    )
    const first = open?.["oldest"] as number | null | undefined
    const oldest = typeof first === "number" ? yield* this.read(first, now) : null
    return {
      runs: parked?.["runs"] as number,
      questions: open?.["questions"] as number,
      oldest_asked_at: oldest === null ? null : Date.parse(oldest.asked_at),
    }
  }

  addressee(to: string): Uint8Array {
    return this.#vault.digest("addressee", [to])
  }

  /** Null where it was put into this inbox in the database: its run's key and the sealed question say whose it is. */
  *inInbox(num: number, query: InboxQuery, now: number): Steps<Question | null> {
    try {
      const question = yield* this.read(num, now)
      const caller = question === null ? undefined : (yield* this.#log.head(question.run_id))?.caller
      return question !== null && caller !== undefined && isFor(query, caller, question.to) ? question : null
    } catch (error) {
      // Damage is reported to the reader of that run.
      if (error instanceof Damaged) return null
      throw error
    }
  }

  *#opened(row: Row | undefined, now: number): Steps<Question | null> {
    const head = row === undefined ? undefined : yield* this.#log.head(row["run_id"] as string)
    // Retention was faster.
    return row === undefined || head === undefined ? null : openQuestion(head.key, row, now)
  }
}

function* sizesOf(sql: string, ...values: SqlValue[]): Steps<StoredQuestion[]> {
  return (yield* all(sql, ...values)).map(({ num, bytes }) => ({ num: num as number, bytes: bytes as number }))
}

function* inboxPart(
  where: string,
  values: readonly SqlValue[],
  { status, limit }: InboxQuery,
  now: number,
  after: number,
): Steps<StoredQuestion[]> {
  const rows = (code: number, time: string, ...times: number[]): Steps<StoredQuestion[]> =>
    sizesOf(
      `${sizes} WHERE ${where} AND status = ${code} AND questions.num > ? ${time} ORDER BY questions.num LIMIT ?`,
      ...values,
      after,
      ...times,
      limit + 1,
    )
  const { open, expired } = questionStatus
  switch (status) {
    case "open":
      return yield* rows(open, "AND expires_at > ?", now)
    case "expired":
      return [...(yield* rows(expired, "")), ...(yield* rows(open, "AND expires_at <= ?", now))]
    case "answered":
    case "withdrawn":
      return yield* rows(questionStatus[status], "")
  }
}
