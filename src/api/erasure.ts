import {
  anything,
  array,
  boolean,
  closed,
  integer,
  named,
  nullable,
  object,
  oneOf,
  optional,
  record,
  string,
  type Shape,
} from "../base/typed-schema.ts"
import type { JsonValue } from "../base/json-value.ts"
import { json, route } from "./route.ts"

/** What an erasure leaves where it is. */
export const leftByErasure = [
  "audit trail",
  "logs of the service",
  "exported traces, metrics and logs",
  "recordings beside tests",
  "counts of runs and of what they used",
  "backups made earlier: erase again after a restore (`wire store erase-again`)",
] as const

const started = named("ErasureStarted", object({ id: string() }))

export type ErasureStarted = Shape<typeof started>

const state = named(
  "Erasure",
  object({
    status: oneOf(["running", "completed"]),
    matched: integer({
      description: "Runs that were found so far, those included that were made from them: shadows and re-runs.",
    }),
    erased: integer({ description: "0 of a dry run." }),
    open: array(string(), { description: "Ids of runs that were found and have not ended." }),
    unreadable: array(string(), {
      description: "Ids of runs of which nobody knows whether they match: they are damaged.",
    }),
    progress: object({
      looked_at: integer({ description: "A place in the order in which runs were made." }),
      of: integer(),
    }),
    not_erased: array(string(), { description: "What may still say something of them." }),
  }),
)

export type ErasureState = Shape<typeof state>

const body = closed({
  where: record(anything(), {
    description:
      'Values by path: `{ "input.customer": "42" }`. All must hold; they are compared as JSON, and a default that the run took for a value left out does not count.',
    minProperties: 1,
    maxProperties: 20,
  }),
  workflow: optional(
    string({ minLength: 1, maxLength: 200, description: "Only runs of this workflow of the folder." }),
  ),
  dry_run: optional(boolean({ description: "Counts the runs, and erases nothing: true unless false is sent." })),
  also_open: optional(
    boolean({ description: "Goes on until the runs that are open have ended, and erases them as well." }),
  ),
})

export interface ErasureBody {
  readonly where: Readonly<Record<string, JsonValue>>
  readonly workflow?: string
  readonly dry_run?: boolean
  readonly also_open?: boolean
}

const listed = named(
  "ErasedRuns",
  object({
    erased: array(object({ run_id: string(), erased_at: string({ format: "date-time" }) })),
    next: nullable(string(), { description: "`after` of the next page; null on the last one." }),
  }),
)

export type ErasedRunsAnswer = Shape<typeof listed>

export const startErasure = route({
  id: "startErasure",
  method: "POST",
  path: "/erase",
  group: "Runs",
  operators: true,
  summary: "Erase the runs of a customer",
  description:
    "For operators. Erases the ended runs whose input has these values, of all callers, with everything that the store and the service keep of them. Runs that begin later are not looked at. It goes on when the service restarts. An erased run is 410.",
  body,
  example: { where: { "input.customer": "42" }, dry_run: true },
  answers: { 202: json("It is stored, and goes on by itself.", started) },
  errors: ["invalid_request", "forbidden"],
})

export const getErasure = route({
  id: "getErasure",
  method: "GET",
  path: "/erase/{id}",
  group: "Runs",
  operators: true,
  summary: "How far an erasure is",
  description: "For operators. Known for 30 days.",
  parameters: { id: "From the answer to `POST /erase`." },
  answers: { 200: json("Its state.", state) },
  errors: ["not_found"],
})

export const listErased = route({
  id: "listErased",
  method: "GET",
  path: "/erase",
  group: "Runs",
  operators: true,
  summary: "List the ids of erased runs",
  description: "For operators. They are kept without end: a backup that was made earlier still has these runs.",
  query: closed({
    limit: optional(integer({ minimum: 1, maximum: 5_000, description: "1000 unless given." })),
    after: optional(string({ maxLength: 200 })),
  }),
  answers: { 200: json("A page of them, by id.", listed) },
})

export const erasureRoutes = [startErasure, getErasure, listErased] as const
