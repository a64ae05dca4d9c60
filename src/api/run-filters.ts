import { releases } from "../log/release.ts"
import { errorKinds } from "../check/error-kinds.ts"
import { array, number, oneOf, optional, string, union, withRefusal, type Optional } from "../base/typed-schema.ts"
import { runStatuses } from "./execute.ts"

/** What a run may be started by; `request` includes the chat APIs. */
export const startedByWords = ["request", "schedule", "webhook", "rerun", "lab"] as const
export const workflowName = string({ minLength: 1, maxLength: 1000 })
const notWords = "`q` has 1 to 200 characters"
const notAScore = "A score is written as its name and its value: helpful:bad"
const notANumber = (name: string): string => `\`${name}\` must be a number, 0 or more`

export const notATime = "A time is written as in RFC 3339: 2026-11-16T22:15:00Z"

/** What the counts of runs can be filtered by. */
export const runFilters = {
  workflow: optional(
    union("anyOf", [workflowName, array(workflowName, { minItems: 1, maxItems: 100 })], {
      description: "Only runs of the workflow with this name. Given several times: of any of them.",
    }),
  ),
  version: optional(string({ minLength: 1, maxLength: 64, description: "Only runs of this version of a workflow." })),
  release: optional(
    oneOf(releases, {
      description: "Only runs of this side of a release. Without it, all runs but shadows.",
    }),
  ),
  started_by: optional(oneOf(startedByWords, { description: "Only runs that were started by this." })),
  min_cost: optional(
    withRefusal(notANumber("min_cost"), number({ minimum: 0, description: "Only runs that cost at least this." })),
  ),
  min_seconds: optional(
    withRefusal(
      notANumber("min_seconds"),
      number({ minimum: 0, description: "Only runs that have ended and took at least this long." }),
    ),
  ),
  until: optional(
    withRefusal(notATime, string({ maxLength: 64, description: "Only runs that were made before this time." })),
  ),
  caller: optional(
    string({ minLength: 1, maxLength: 200, description: "Only runs of this caller. Only for operators." }),
  ),
  status: optional(
    oneOf([...runStatuses, "open", "ended"], {
      description: "`open` is queued, running or cancelling; `ended` is completed, failed or cancelled.",
    }),
  ),
  since: optional(
    withRefusal(
      notATime,
      string({ maxLength: 64, description: "Only runs that were made at this time or later, in RFC 3339." }),
    ),
  ),
  error_kind: optional(oneOf(errorKinds, { description: "Only runs that failed with an error of this kind." })),
}

/** What the list can be filtered by. */
export const searchFilters = {
  score: optional(
    withRefusal(
      notAScore,
      string({
        maxLength: 250,
        pattern: "^[^:]+:.+$",
        description:
          "Only runs with this score: `helpful:bad`, its name and its value. Of a judged score the first closed field counts.",
      }),
    ),
  ),
  q: optional(
    withRefusal(
      notWords,
      string({
        minLength: 1,
        maxLength: 200,
        description:
          "Words. Each must occur, without regard to case, in the run's id, its workflow, or the preview of its input, output or error.",
      }),
    ),
  ),
  ...runFilters,
}

type Given<T> = { readonly [Name in keyof T]?: (T[Name] extends Optional<infer Value> ? Value : never) | undefined }

export type RunFilters = Given<typeof runFilters>
export type SearchFilters = Given<typeof searchFilters>
