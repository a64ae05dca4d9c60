import type { RunStatsAnswer } from "../../src/client/client.ts"
import { timeOf } from "./run-query.ts"

/** One bar of each chart. */
export interface Bar {
  readonly at: number
  readonly runs: number
  readonly failed: number
  readonly waiting: number
  readonly p50: number
  readonly p95: number
  readonly cost: number
}

export interface Bars {
  readonly by: "hour" | "day"
  readonly bars: readonly Bar[]
}

const unitMs = { hour: 3_600_000, day: 86_400_000 } as const
const usualMs = unitMs.day
/** Longer spans are shown by day. */
const byHourMs = 4 * unitMs.day

/** The span that the charts show: that of the filters, the last 24 hours without any. */
export function spanOf(
  params: URLSearchParams,
  now: number,
): { readonly by: Bars["by"]; readonly since: number; readonly until: number } {
  const read = (name: string): number => Date.parse(timeOf(params.get(name) ?? "", now))
  const until = Number.isNaN(read("until")) ? now : read("until")
  const since = Number.isNaN(read("since")) ? until - usualMs : read("since")
  return { by: until - since > byHourMs ? "day" : "hour", since, until }
}

/** A bar for each hour or day of the span, those without runs too. */
export function barsOf({ by, buckets }: Pick<RunStatsAnswer, "by" | "buckets">, since: number, until: number): Bars {
  const ms = unitMs[by]
  const found = new Map(buckets.map((bucket) => [Date.parse(bucket.at), bucket]))
  const first = Math.floor(since / ms)
  const count = Math.min(500, Math.max(1, Math.ceil(until / ms) - first))
  const bars = Array.from({ length: count }, (_, index): Bar => {
    const at = (first + index) * ms
    const bucket = found.get(at)
    if (bucket === undefined) return { at, runs: 0, failed: 0, waiting: 0, p50: 0, p95: 0, cost: 0 }
    const { runs, failed, waiting, p50_ms, p95_ms, cost } = bucket
    return { at, runs, failed, waiting, p50: p50_ms ?? 0, p95: p95_ms ?? 0, cost }
  })
  return { by, bars }
}
