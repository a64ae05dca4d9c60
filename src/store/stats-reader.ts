import type { Usage } from "../log/events.ts"
import { nano } from "../ports/ledger.ts"
import {
  bucketsOf,
  statsMs,
  statsUnits,
  threeDigits,
  type CountedRuns,
  type RunBucket,
  type StatsQuery,
} from "../ports/run-stats.ts"
import { byStatus } from "./run-list-reader.ts"
import { all, type Row, type SqlValue, type Steps } from "./sql.ts"

/** Counts from the rows of ended runs, and from the few runs that have not ended. */
export function* readStats(query: StatsQuery): Steps<RunBucket[]> {
  const ended = yield* endedRuns(query)
  return bucketsOf([...ended, ...(yield* openRuns(query))])
}

class Conditions {
  readonly #texts: string[] = []
  readonly values: SqlValue[] = []

  constructor({ caller, workflows, version, release, started_by }: StatsQuery) {
    if (caller !== null) this.add("caller = ?", caller)
    if (workflows !== null) this.add(`workflow IN (${workflows.map(() => "?").join(", ")})`, ...workflows)
    if (version !== null) this.add("version = ?", version)
    if (release === null) this.add("coalesce(release, '') <> 'shadow'")
    else this.add("release = ?", release)
    if (started_by !== null) this.add("origin = ?", started_by)
  }

  add(text: string, ...values: SqlValue[]): void {
    this.#texts.push(text)
    this.values.push(...values)
  }

  toString(): string {
    return this.#texts.join(" AND ")
  }
}

function* endedRuns(query: StatsQuery): Steps<CountedRuns[]> {
  const { unit, status, error_kind, since, until, min_cost, min_seconds } = query
  const outcomes = status === null || status === "ended" ? null : status
  if (outcomes !== null && outcomes !== "completed" && outcomes !== "failed" && outcomes !== "cancelled") return []
  const where = new Conditions(query)
  where.add("until >= ?", since + statsMs)
  if (until !== null) where.add("until < ?", until + statsMs)
  if (outcomes !== null) where.add("outcome = ?", outcomes)
  if (error_kind !== null) where.add("error_kind = ?", error_kind)
  if (min_cost !== null) where.add("cost >= ?", Math.round(min_cost * nano))
  if (min_seconds !== null) where.add("duration >= ?", threeDigits(min_seconds * 1000))
  const ms = statsUnits[unit]
  const rows = yield* all(
    `SELECT CAST((until - ${statsMs}) / ${ms} AS TEXT) AS bucket, outcome, duration, CAST(count(*) AS TEXT) AS runs,
       CAST(sum(tokens) AS TEXT) AS tokens, CAST(sum(cost) AS TEXT) AS cost
     FROM ended_runs WHERE ${where.toString()} GROUP BY (until - ${statsMs}) / ${ms}, outcome, duration`,
    ...where.values,
  )
  return rows.map((row) => ({
    at: Number(row["bucket"]) * ms,
    kind: row["outcome"] as CountedRuns["kind"],
    duration: row["duration"] as number,
    runs: Number(row["runs"]),
    tokens: Number(row["tokens"]),
    cost: Number(row["cost"]),
  }))
}

/** Few runs are open: each of these indexes has no others. */
const openIndexes = [
  { waiting: 0, index: "runs_claimable" },
  { waiting: 1, index: "runs_waiting" },
] as const

function* openRuns(query: StatsQuery): Steps<CountedRuns[]> {
  const { status, error_kind, min_seconds } = query
  if (error_kind !== null || min_seconds !== null || status === "ended") return []
  const found: CountedRuns[] = []
  for (const { waiting, index } of openIndexes) found.push(...(yield* openRunsOf(query, waiting, index)))
  return found
}

function* openRunsOf(query: StatsQuery, waiting: 0 | 1, index: string): Steps<CountedRuns[]> {
  const { unit, status, since, until, min_cost } = query
  const where = new Conditions(query)
  where.add(`finished_at IS NULL AND waiting = ${waiting}`)
  where.add("created_at >= ?", since)
  if (until !== null) where.add("created_at < ?", until)
  if (status !== null) where.add(byStatus[status].where)
  const ms = statsUnits[unit]
  // Those that are alike are counted together; by cost, each is looked at.
  const usage = min_cost === null ? "NULL" : "usage"
  const rows = yield* all(
    `SELECT CAST(created_at / ${ms} AS TEXT) AS bucket, cancel_requested, ${usage} AS used, CAST(count(*) AS TEXT) AS runs
     FROM runs INDEXED BY ${index} WHERE ${where.toString()} GROUP BY created_at / ${ms}, cancel_requested${min_cost === null ? "" : ", usage"}`,
    ...where.values,
  )
  return rows
    .filter((row) => min_cost === null || costOf(row) >= min_cost)
    .map((row) => ({
      at: Number(row["bucket"]) * ms,
      kind: waiting === 1 && row["cancel_requested"] === 0 ? "waiting" : "open",
      duration: null,
      runs: Number(row["runs"]),
      tokens: 0,
      cost: 0,
    }))
}

function costOf(row: Row): number {
  const used = row["used"] as string | null
  return used === null ? 0 : ((JSON.parse(used) as Usage).cost ?? 0)
}
