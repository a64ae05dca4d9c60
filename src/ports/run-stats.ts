import { hourMs } from "./ledger.ts"
import { fitsQuery, type ListedRun, type RunQuery } from "./run-list.ts"
import { totalTokens } from "../log/usage.ts"

// Counts of runs for charts. A store keeps a row for each run that has ended, written in the step that ends it: so each run counts once, whatever crashes, and goes on
// to count when it is deleted.

export const statsUnits = { hour: hourMs, day: 24 * hourMs } as const

export type StatsUnit = keyof typeof statsUnits

/** For how long ended runs count. */
export const statsDays = 400
export const statsMs = statsDays * statsUnits.day

/** The filters of the list that the counts know. */
export type StatsFilter = Omit<RunQuery, "limit" | "after" | "previews" | "score"> & {
  readonly min_cost: number | null
  readonly min_seconds: number | null
}

export interface StatsQuery extends StatsFilter {
  readonly unit: StatsUnit
  /** In milliseconds since the epoch: counts are for a time, not for ever. */
  readonly since: number
}

/** Runs that were made in one hour or day. */
export interface RunBucket {
  /** When it begins. */
  readonly at: number
  readonly runs: number
  readonly failed: number
  /** Those that wait now. */
  readonly waiting: number
  /** Of runs that have ended, to three digits; null where none has. */
  readonly p50_ms: number | null
  readonly p95_ms: number | null
  /** Of runs that have ended. */
  readonly tokens: number
  /** In billionths. */
  readonly cost: number
}

export interface RunCounts {
  /** Counts of runs by the time of their creation, the oldest first; those of deleted runs included. Buckets without runs are left out. */
  stats(query: StatsQuery): Promise<RunBucket[]>
}

/** Runs of a bucket that are alike. `duration` is null for runs that have not ended. */
export interface CountedRuns {
  readonly at: number
  readonly kind: "completed" | "failed" | "cancelled" | "waiting" | "open"
  readonly duration: number | null
  readonly runs: number
  readonly tokens: number
  readonly cost: number
}

/** What a store remembers of a run that has ended. */
export interface EndedRun {
  readonly duration: number
  readonly tokens: number
  /** In billionths. */
  readonly cost: number
}

export function endedRun({
  created_at,
  finished_at,
  usage,
}: Pick<ListedRun, "created_at" | "finished_at" | "usage">): EndedRun {
  return {
    duration: threeDigits(Math.max(0, (finished_at ?? created_at) - created_at)),
    tokens: totalTokens(usage),
    cost: Math.round((usage.cost ?? 0) * 1e9),
  }
}

/** What a run adds to the counts; nothing where it does not fit. */
export function countedRun(run: ListedRun, query: StatsQuery): CountedRuns[] {
  const { caller, min_cost, min_seconds, unit } = query
  const { status, finished_at, usage } = run
  if ((caller !== null && run.caller !== caller) || !fitsQuery(run, query)) return []
  if (min_cost !== null && (usage.cost ?? 0) < min_cost) return []
  const at = Math.floor(run.created_at / statsUnits[unit]) * statsUnits[unit]
  if (finished_at === null) {
    if (min_seconds !== null) return []
    const kind = status === "waiting" ? "waiting" : "open"
    return [{ at, kind, duration: null, runs: 1, tokens: 0, cost: 0 }]
  }
  const ended = endedRun(run)
  if (min_seconds !== null && ended.duration < threeDigits(min_seconds * 1000)) return []
  const kind = status === "completed" || status === "cancelled" ? status : "failed"
  return [{ at, kind, runs: 1, ...ended }]
}

/** Durations are rounded down, so that many runs have the same, and a chart reads few rows. */
export function threeDigits(ms: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, ms))) - 2)
  return Math.floor(ms / unit) * unit
}

/** Sums up, the oldest bucket first. Buckets without runs are left out. */
export function bucketsOf(counted: readonly CountedRuns[]): RunBucket[] {
  const found = new Map<number, CountedRuns[]>()
  for (const one of counted) {
    const bucket = found.get(one.at)
    if (bucket === undefined) found.set(one.at, [one])
    else bucket.push(one)
  }
  return [...found].sort(([one], [other]) => one - other).map(([at, parts]) => bucketOf(at, parts))
}

function bucketOf(at: number, parts: readonly CountedRuns[]): RunBucket {
  const sum = (of: (one: CountedRuns) => number): number => parts.reduce((total, one) => total + of(one), 0)
  const count = (kind: CountedRuns["kind"]): number => sum((one) => (one.kind === kind ? one.runs : 0))
  const ended = parts.flatMap(({ duration, runs }) => (duration === null ? [] : [{ duration, runs }]))
  ended.sort((one, other) => one.duration - other.duration)
  return {
    at,
    runs: sum(({ runs }) => runs),
    failed: count("failed"),
    waiting: count("waiting"),
    p50_ms: percentile(ended, 0.5),
    p95_ms: percentile(ended, 0.95),
    tokens: sum(({ tokens }) => tokens),
    cost: sum(({ cost }) => cost),
  }
}

/** The smallest duration that this share of the runs does not exceed. */
function percentile(
  ended: readonly { readonly duration: number; readonly runs: number }[],
  share: number,
): number | null {
  const all = ended.reduce((sum, { runs }) => sum + runs, 0)
  let passed = 0
  for (const { duration, runs } of ended) {
    passed += runs
    if (passed >= share * all) return duration
  }
  return null
}
