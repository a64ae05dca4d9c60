import { dayMs, mostByHand, scoreDays, shadowAccount, type PutOutcome } from "../ports/scores.ts"
import type { PutScoreOperation, ReserveScoreOperation, ScoredOperation, TakeScoredOperation } from "./operations.ts"
import { all, get, run, type Row, type Steps } from "./sql.ts"

// Scores of runs, each inside of a transaction of the writer.

/** Status numbers in the database. `reserved`: a judge is asked. `shown`: everywhere; `recorded`: in the record of its run alone. */
export const scoreState = { reserved: 0, shown: 1, recorded: 2 } as const

export function* takeScored({ limit, now, due_at }: TakeScoredOperation): Steps<string[]> {
  const rows = yield* all(
    "SELECT num, run_id FROM runs WHERE score_due <= ? ORDER BY score_due, num LIMIT ?",
    now,
    limit,
  )
  for (const row of rows) yield* run("UPDATE runs SET score_due = ? WHERE num = ?", due_at, row["num"] as number)
  return rows.map((row) => row["run_id"] as string)
}

export function* endScoring({ run_id }: ScoredOperation): Steps<null> {
  yield* run("UPDATE runs SET score_due = NULL WHERE run_id = ?", run_id)
  return null
}

export function* reserveScore({ run_id, name, day, cost, most }: ReserveScoreOperation): Steps<boolean> {
  const num = (yield* get("SELECT num FROM runs WHERE run_id = ?", run_id))?.["num"] as number | undefined
  if (num === undefined) return false
  const before = yield* scoreOf(num, name, "")
  if (before !== undefined && before["state"] !== scoreState.reserved) return false
  // What a crash left is given back first.
  if (before !== undefined) yield* spend(name, before["day"] as number, -(before["cost"] as number))
  const spent = ((yield* get(`SELECT cost FROM ${daysOf(name)} WHERE day = ?`, day))?.["cost"] ?? 0) as number
  if (spent + cost > most) {
    yield* run("DELETE FROM run_scores WHERE run = ? AND name = ? AND author = ''", num, name)
    return false
  }
  yield* spend(name, day, cost)
  yield* write(num, name, "", { state: scoreState.reserved, day, cost, match: null, counted: null, body: null })
  return true
}

export function* putScore(operation: PutScoreOperation): Steps<PutOutcome> {
  const { run_id, name, author, counted, at, cost } = operation
  const [match, body] = operation.blobs
  const found = yield* get("SELECT num, caller, workflow, version, finished_at FROM runs WHERE run_id = ?", run_id)
  if (found === undefined) return "gone"
  if (found["finished_at"] === null) return "open"
  const num = found["num"] as number
  const before = yield* scoreOf(num, name, author)
  const isReserved = before?.["state"] === scoreState.reserved
  if (author === "" && before !== undefined && !isReserved) return "there"
  if (author !== "" && before === undefined && (yield* givenBy(num)) >= mostByHand) return "full"
  const day = Math.floor(at / dayMs)
  if (isReserved) yield* spend(name, before?.["day"] as number, cost - (before?.["cost"] as number))
  else if (cost > 0) yield* spend(name, day, cost)
  const old = before?.["counted"]
  if (typeof old === "string") yield* count(found, name, JSON.parse(old) as Counted, -1)
  if (body === null) {
    yield* run("DELETE FROM run_scores WHERE run = ? AND name = ? AND author = ?", num, name, author)
    return "stored"
  }
  const one: Counted | null = counted === null ? null : { day, ...counted }
  const state = counted === null ? scoreState.recorded : scoreState.shown
  const text = one === null ? null : JSON.stringify(one)
  yield* write(num, name, author, { state, day, cost, match, counted: text, body })
  if (one !== null) yield* count(found, name, one, 1)
  return "stored"
}

/** What the sums got of a score. */
interface Counted {
  readonly day: number
  readonly model: string
  readonly value: string
  readonly number: number
}

function* scoreOf(num: number, name: string, author: string): Steps<Row | undefined> {
  return yield* get(
    "SELECT state, day, cost, counted FROM run_scores WHERE run = ? AND name = ? AND author = ?",
    num,
    name,
    author,
  )
}

function* givenBy(num: number): Steps<number> {
  return (yield* get("SELECT count(*) AS given FROM run_scores WHERE run = ? AND author <> ''", num))?.[
    "given"
  ] as number
}

interface Written {
  readonly state: number
  readonly day: number
  readonly cost: number
  readonly match: Uint8Array | null
  readonly counted: string | null
  readonly body: Uint8Array | null
}

function* write(num: number, name: string, author: string, row: Written): Steps<void> {
  yield* run(
    `INSERT INTO run_scores (run, name, author, state, day, cost, found_by, counted, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (run, name, author) DO UPDATE SET state = excluded.state, day = excluded.day, cost = excluded.cost,
       found_by = excluded.found_by, counted = excluded.counted, body = excluded.body`,
    num,
    name,
    author,
    row.state,
    row.day,
    row.cost,
    row.match,
    row.counted,
    row.body,
  )
}

/** Judges and shadows have a bound each. */
function daysOf(name: string): "shadow_days" | "score_days" {
  return name === shadowAccount ? "shadow_days" : "score_days"
}

function* spend(name: string, day: number, cost: number): Steps<void> {
  const days = daysOf(name)
  yield* run(
    `INSERT INTO ${days} (day, cost, until) VALUES (?, ?, ?)
     ON CONFLICT (day) DO UPDATE SET cost = ${days}.cost + excluded.cost`,
    day,
    cost,
    (day + scoreDays) * dayMs,
  )
}

function* count(of: Row, name: string, { day, model, value, number }: Counted, by: 1 | -1): Steps<void> {
  yield* run(
    `INSERT INTO score_sums (caller, workflow, name, day, version, model, value, until, count, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (caller, workflow, name, day, version, model, value) DO UPDATE SET count = score_sums.count + excluded.count, sum = score_sums.sum + excluded.sum`,
    of["caller"] as string,
    (of["workflow"] ?? "") as string,
    name,
    day,
    (of["version"] ?? "") as string,
    model,
    value,
    (day + scoreDays) * dayMs,
    by,
    by * number,
  )
}
