import { scoreDays, scoreKeys, type ScoreKey } from "../ports/scores.ts"
import {
  anyObject,
  array,
  boolean,
  closed,
  integer,
  named,
  nullable,
  number,
  object,
  oneOf,
  optional,
  string,
  time,
  union,
  withRefusal,
  type Schema,
  type Shape,
} from "../base/typed-schema.ts"
import { json, route } from "./route.ts"
import { notATime, workflowName } from "./run-filters.ts"
import { score } from "./shown-score.ts"

export type GivenScoreAnswer = Shape<typeof givenScore>

const givenScore = named("GivenScore", object({ run_id: string(), score }))

const scoreName = string({
  minLength: 1,
  maxLength: 100,
  description: "Letters, digits, `_` and `-`.",
  pattern: "^[A-Za-z_][A-Za-z0-9_-]*$",
})

/** Says what a value may be in place of what each kind of value lacks. */
function asValue<T>(schema: Schema<T>): Schema<T> {
  return withRefusal("`value` is a boolean, a number, or a text of 1 to 100 characters", schema)
}

/** What a caller gives by hand. */
export interface GivenScore {
  readonly name: string
  readonly value: boolean | number | string
  readonly comment?: string | null
}

export const giveScore = route({
  id: "giveScore",
  method: "POST",
  path: "/execute/{run_id}/scores",
  group: "Scores",
  operators: true,
  summary: "Score a run by hand",
  description:
    "A caller scores their own runs, an operator all. Each caller has one score of a name in a run: a later one takes its place. At most 100 a run. 409 for a run that has not ended, and for the name of a score that its workflow declares.",
  body: closed({
    name: scoreName,
    value: union("anyOf", [asValue(boolean()), asValue(number()), asValue(string({ minLength: 1, maxLength: 100 }))], {
      description: "A boolean, a number, or a text of at most 100 characters.",
    }),
    comment: optional(nullable(string({ maxLength: 2_000 }))),
  }),
  answers: { 200: json("The score, as the run has it now.", givenScore) },
  errors: ["not_found", "conflict", "run_expired", "overloaded"],
})

const scoreSum = named(
  "ScoreSum",
  object({
    name: string(),
    day: optional(string({ description: "With `by=day`: `2026-11-19`, in UTC." })),
    version: optional(nullable(string(), { description: "With `by=version`; null for source that was sent." })),
    model: optional(
      nullable(string(), { description: "With `by=model`: the backend's id; null where no model judged." }),
    ),
    count: integer(),
    mean: optional(number({ description: "Of numbers." })),
    shares: optional(
      anyObject({ description: "Of booleans and enums: the share of each value, from 0 to 1." }) as Schema<
        Readonly<Record<string, number>>
      >,
    ),
  }),
)

export type ScoresAnswer = Shape<typeof scoreSums>

const scoreSums = named("Scores", object({ by: oneOf(scoreKeys), from: time, to: time, scores: array(scoreSum) }))

export interface ScoresRequest {
  readonly workflow?: string
  readonly name?: string
  readonly by?: ScoreKey
  readonly from?: string
  readonly to?: string
}

const day = (description: string) => optional(withRefusal(notATime, string({ maxLength: 64, description })))

export const listScores = route({
  id: "listScores",
  method: "GET",
  path: "/scores",
  group: "Scores",
  operators: true,
  summary: "Counts and means of scores",
  description: `Of the caller's own runs, to operators of all. Counted as scores come, kept ${scoreDays} days, and without run ids: a run that is deleted goes on to count. Scores that are made from private values are not counted, and of texts that are given by hand only how many there are.`,
  query: closed({
    workflow: optional(workflowName),
    name: optional(string({ minLength: 1, maxLength: 100 })),
    by: optional(oneOf(scoreKeys, { description: "What each row sums up; `day` unless given." })),
    from: day("A day, or a time in RFC 3339, whose whole day (UTC) counts. 30 days before `to` unless given."),
    to: day("Whole days before it count, and the one that it is in. Now unless given."),
  }),
  answers: { 200: json("By name, then by day, version or model.", scoreSums) },
  errors: ["not_found", "overloaded"],
})

export const scoreRoutes = [giveScore, listScores]
