import { statsDays, statsUnits, type StatsUnit } from "../ports/run-stats.ts"
import {
  array,
  closed,
  integer,
  named,
  nullable,
  number,
  object,
  oneOf,
  optional,
  time,
  type Shape,
} from "../base/typed-schema.ts"
import { json, route } from "./route.ts"
import { runFilters } from "./run-filters.ts"

/** A longer span is refused. */
export const maxBuckets = 500

export const statsUnitNames = Object.keys(statsUnits) as StatsUnit[]

const runBucket = named(
  "RunBucket",
  object({
    at: time,
    runs: integer({ description: "Made in this hour or day (UTC), deleted ones included." }),
    failed: integer(),
    waiting: integer({ description: "Those that wait now." }),
    p50_ms: nullable(integer(), {
      description: "Half of the runs that have ended took at most this long, to three digits.",
    }),
    p95_ms: nullable(integer()),
    tokens: integer({ description: "Of the runs that have ended." }),
    cost: number({ description: "The same." }),
  }),
)

export type RunStatsAnswer = Shape<typeof runStats>

const runStats = named(
  "RunStats",
  object({
    by: oneOf(statsUnitNames),
    since: time,
    until: time,
    buckets: array(runBucket, { description: "The oldest first. Those without runs are left out." }),
  }),
)

export const getRunStats = route({
  id: "getRunStats",
  method: "GET",
  path: "/runs/stats",
  group: "Runs",
  operators: true,
  summary: "Counts of the caller's runs, by the time of their creation",
  description: `For charts, with the filters of \`GET /runs\` but \`q\`: all must hold. To operators: of the runs of all callers. They come from counts that the service keeps as runs end, for ${statsDays} days, and not from reading runs: a run that is deleted goes on to count. At most ${maxBuckets} buckets; without \`since\` it is the ${maxBuckets} newest.`,
  query: closed({
    by: optional(oneOf(statsUnitNames, { description: "How long a bucket is: `hour` unless given." })),
    ...runFilters,
  }),
  answers: { 200: json("The counts.", runStats) },
  errors: ["invalid_request"],
})
