import {
  array,
  boolean,
  closed,
  exactly,
  integer,
  maybe,
  named,
  nullable,
  object,
  oneOf,
  optional,
  string,
  time,
  type Shape,
} from "../base/typed-schema.ts"
import { diff } from "./diff.ts"
import { otherFiles } from "./execute.ts"
import { next, pageFields } from "./page.ts"
import { json, route } from "./route.ts"

const parameters = { name: "May have slashes: `tickets/triage`.", version: "12 hex digits." }
const forOperators = "For operators; without keys only on loopback."

const versionFields = {
  version: string(),
  first_served_at: time,
  last_served_at: time,
  serving: nullable(oneOf(["current", "candidate"]), { description: "Null for a version that does not serve now." }),
  withdrawn: optional(exactly(true, { description: "An operator withdrew it. Absent where none did." })),
  runs: object(
    { open: integer(), waiting: integer(), ended: integer() },
    { description: "The caller's own that are stored; an operator's: those of all." },
  ),
}

export type VersionAnswer = Shape<typeof version>

const version = named("WorkflowVersion", object(versionFields))

export type VersionsAnswer = Shape<typeof versions>

const versions = named("WorkflowVersions", object({ versions: array(version), next }))

export const listVersions = route({
  id: "listVersions",
  method: "GET",
  path: "/workflows/{name*}/versions",
  group: "Workflows",
  operators: true,
  summary: "The versions of a workflow that are kept, with their runs",
  description:
    "Newest first. A version is kept while it serves, while it has runs, and for `WIRE_VERSION_RETENTION` after it served last.",
  parameters,
  query: closed(pageFields("50")),
  answers: { 200: json("A page of them.", versions) },
  errors: ["not_found", "overloaded"],
})

export type VersionDetail = Shape<typeof versionDetail>

const versionDetail = named("WorkflowVersionDetail", object({ ...versionFields, source: string(), ...otherFiles }))

export const getVersion = route({
  id: "getVersion",
  method: "GET",
  path: "/workflows/{name*}/versions/{version}",
  group: "Workflows",
  operators: true,
  summary: "One version of a workflow, with its files",
  description: `What the list has, and the source and the other files. ${forOperators}`,
  parameters,
  answers: { 200: json("The version.", versionDetail) },
  errors: ["not_found", "overloaded"],
})

export const diffVersions = route({
  id: "diffVersions",
  method: "GET",
  path: "/workflows/{name*}/versions/{a}/diff/{b}",
  group: "Workflows",
  operators: true,
  summary: "What the change from version `a` to version `b` means",
  description: "As `wire diff` says it: contract, steps, reach, cost, trust and questions. Nothing is run.",
  parameters: { name: parameters.name, a: "The old version.", b: "The new one." },
  answers: { 200: json("The difference.", diff) },
  errors: ["not_found", "validation_error", "overloaded"],
})

const steering = { method: "POST", group: "Workflows", operators: true, parameters } as const

export const withdrawVersion = route({
  ...steering,
  id: "withdrawVersion",
  path: "/workflows/{name*}/versions/{version}/withdraw",
  summary: "Withdraw a version: callers cannot execute it any more",
  description: `Ends at once what \`WIRE_VERSION_CALLABLE\` allows. Runs of it go on. ${forOperators}`,
  bodyIs: "none",
  answers: { 200: json("It is withdrawn.", version) },
  errors: ["not_found", "overloaded"],
})

export type ServeBody = Shape<typeof serveBody>

const serveBody = closed({
  version: nullable(string({ minLength: 1, maxLength: 64 }), {
    description: "A kept version; null: the file serves again.",
  }),
})

const served = named(
  "ServedVersion",
  object({
    name: string(),
    version: string({ description: "The one that serves now." }),
    pinned: optional(exactly(true)),
  }),
)

export type ServedAnswer = Shape<typeof served>

export const serveVersion = route({
  ...steering,
  id: "serveVersion",
  path: "/workflows/{name*}/serve",
  parameters: { name: parameters.name },
  summary: "Serve a kept version of a workflow in place of its file",
  description: `On all replicas that share the store. It ends on a replica whose file then changes, and with \`{ "version": null }\`. ${forOperators}`,
  body: serveBody,
  example: { version: null },
  answers: { 200: json("What serves now.", served) },
  errors: ["not_found", "validation_error", "overloaded"],
})

/** Runs that one call looks at. */
export const movedAtOnce = 200

export type MoveBody = Shape<typeof moveBody>

const versionOrNull = (description: string) =>
  optional(nullable(string({ minLength: 1, maxLength: 64 }), { description }))

const moveBody = closed({
  from: versionOrNull("Only runs of this version; null: of any."),
  to: versionOrNull("A kept version; null: the one that serves."),
  run_ids: maybe(
    array(string({ minLength: 1, maxLength: 64 }), {
      maxItems: movedAtOnce,
      description: "Only these runs. One that began with `version` is moved only where it is named here.",
    }),
  ),
  dry_run: maybe(boolean({ description: "Nothing is moved: the answer says what a move would do." })),
  after: maybe(string({ maxLength: 200, description: "The `next` of another page." })),
})

export type MovedRun = Shape<typeof movedRun>

const movedRun = named(
  "MovedRun",
  object({
    run_id: string(),
    outcome: oneOf(["moves", "moves_and_asks_again", "stays"]),
    because: array(string(), { description: "Why it stays; of one that moves, what is asked again or outdated." }),
  }),
)

export type MoveAnswer = Shape<typeof moveAnswer>

const moveAnswer = named(
  "MovedRuns",
  object({
    moved: integer({ description: "Without those that ask again." }),
    asked_again: integer(),
    stay: integer(),
    runs: array(movedRun),
    next,
  }),
)

export const moveRuns = route({
  ...steering,
  id: "moveRuns",
  path: "/workflows/{name*}/move",
  parameters: { name: parameters.name },
  summary: "Move runs that wait to another version of their workflow",
  description: `A run moves where nothing is lost and nothing is done twice; the answer says of each what becomes of it. At most ${movedAtOnce} runs a call. ${forOperators}`,
  body: moveBody,
  example: { from: null, to: null, dry_run: true },
  answers: { 200: json("What became of each run.", moveAnswer) },
  errors: ["not_found", "validation_error", "overloaded"],
})

/** In a request for a run of a workflow by its name. */
export const requestedVersion = {
  version: maybe(
    string({
      minLength: 1,
      maxLength: 64,
      description:
        "A version that is served, or was within `WIRE_VERSION_CALLABLE` and is not withdrawn. The one that is served unless given.",
    }),
  ),
}

export const versionRoutes = [listVersions, getVersion, diffVersions, withdrawVersion, serveVersion, moveRuns]
