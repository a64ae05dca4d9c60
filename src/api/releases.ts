import { issue } from "../log/event-schemas.ts"
import {
  array,
  closed,
  integer,
  named,
  nullable,
  number,
  object,
  oneOf,
  string,
  type Schema,
  type Shape,
} from "../base/typed-schema.ts"
import type { ValidateIssue } from "./issue.ts"
import { json, route } from "./route.ts"
import type { WorkflowIssue } from "./workflows.ts"

const figures = {
  runs: integer({
    description:
      "Runs that have ended, of the last 500: cancelled ones, and errors of budgets and of the input do not count.",
  }),
  failed: nullable(number(), { description: "The share of them that failed. Null without runs, like the means." }),
  cost: nullable(number(), { description: "The mean; null where a call had no price." }),
  seconds: nullable(number()),
  tokens: nullable(number()),
}

const release = named(
  "Release",
  object({
    state: oneOf(["running", "stopped", "incompatible"], {
      description:
        "`incompatible`: the candidate has errors, or breaks the contract of the current file: `issues` says why.",
    }),
    share: number(),
    shadow: number(),
    version: nullable(string(), { description: "That of the candidate, without its `release` block." }),
    issues: array(issue as Schema<ValidateIssue | WorkflowIssue>),
    current: object(figures),
    candidate: object({
      ...figures,
      skipped_effects: integer({
        description: "Calls that shadows did not make, because they may act.",
      }),
    }),
    agreement: nullable(number(), {
      description:
        "The share of shadows whose output equals that of the run that they shadow, at `agree_on`; null without any that could be compared.",
    }),
    shadows: object({
      compared: integer({ description: "Shadows that could be compared, of the last 500 that have ended." }),
      inconclusive: integer({ description: "Those that could not." }),
    }),
    disagreements: array(
      object({
        run_id: string(),
        shadow_run_id: string(),
        paths: array(string(), { description: "Where the outputs differ: `output.team`." }),
      }),
      { description: "The last 50." },
    ),
  }),
)

export type ReleaseAnswer = Shape<typeof release>

const parameters = { name: "May have slashes: `tickets/triage`." }
const whose = "For operators; without keys only on loopback."

export const getRelease = route({
  id: "getRelease",
  method: "GET",
  path: "/workflows/{name*}/release",
  group: "Workflows",
  operators: true,
  summary: "How the candidate of a workflow compares with the current version",
  description: `The candidate is the file \`NAME.next.wire\` beside \`NAME.wire\`. ${whose}`,
  parameters,
  answers: { 200: json("Both sides.", release) },
  errors: ["not_found"],
})

export const actOnRelease = route({
  id: "actOnRelease",
  method: "POST",
  path: "/workflows/{name*}/release",
  group: "Workflows",
  operators: true,
  summary: "Stop a candidate, or let it go on",
  description: `A candidate that is stopped gets no more traffic. One that goes on is judged by its runs from then on. ${whose}`,
  parameters,
  body: closed({ action: oneOf(["stop", "resume"]) }),
  example: { action: "stop" },
  answers: { 200: json("How it stands now.", release) },
  errors: ["not_found"],
})
