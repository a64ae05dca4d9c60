import {
  array,
  boolean,
  closed,
  integer,
  named,
  object,
  oneOf,
  optional,
  string,
  type Shape,
} from "../base/typed-schema.ts"
import { maxActionRuns, runActs } from "../ports/run-actions.ts"
import { json, route } from "./route.ts"
import { searchFilters, type SearchFilters } from "./run-filters.ts"

const started = named(
  "RunsActionStarted",
  object({ id: string(), matched: integer({ description: "Runs that it goes through." }) }),
)

export type RunsActionStarted = Shape<typeof started>

const state = named(
  "RunsAction",
  object({
    status: oneOf(["running", "completed"]),
    matched: integer(),
    done: integer({ description: "0 of a dry run." }),
    failed: array(object({ run_id: string(), message: string() }), {
      description: "Runs that the action does not fit, or that were refused.",
    }),
  }),
)

export type RunsActionState = Shape<typeof state>

const actionBody = closed({
  action: oneOf(runActs, {
    description:
      "`retry_failed`: a re-run of each that failed or was cancelled, with the secrets of the server; not for operators. `cancel`: of those that have not ended. `delete`: of those that have.",
  }),
  run_ids: optional(
    array(string({ minLength: 1, maxLength: 200 }), {
      minItems: 1,
      maxItems: maxActionRuns,
      description: "Ids that are not the caller's count as unknown, and are not matched.",
    }),
  ),
  filter: optional(
    closed({ ...searchFilters }, { description: "The runs that `GET /runs` lists with these filters; not empty." }),
  ),
  dry_run: optional(
    boolean({ description: "Says how many runs it is about, and does nothing: true unless false is sent." }),
  ),
})

export interface RunsActionBody {
  readonly action: (typeof runActs)[number]
  readonly run_ids?: readonly string[]
  readonly filter?: SearchFilters
  readonly dry_run?: boolean
}

export const startRunsAction = route({
  id: "startRunsAction",
  method: "POST",
  path: "/runs/actions",
  group: "Runs",
  operators: true,
  summary: "Retry, cancel or delete many runs",
  description: `Of the caller's own; operators cancel and delete those of all. Either \`run_ids\` or a \`filter\`, at most ${maxActionRuns} runs. It goes on when the service restarts, and does each once.`,
  body: actionBody,
  answers: { 202: json("It is stored, and goes on by itself.", started) },
  errors: ["invalid_request", "forbidden", "overloaded"],
})

export const getRunsAction = route({
  id: "getRunsAction",
  method: "GET",
  path: "/runs/actions/{id}",
  group: "Runs",
  operators: true,
  summary: "How far an action on many runs is",
  description: "Known for 30 days.",
  parameters: { id: "From the answer to `POST /runs/actions`." },
  answers: { 200: json("Its state.", state) },
  errors: ["not_found"],
})
