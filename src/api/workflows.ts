import { otherFiles, requestFields, startsRun } from "./execute.ts"
import { issue } from "../log/event-schemas.ts"
import type { ValidateIssue } from "./issue.ts"
import { next, pageFields } from "./page.ts"
import { requestedVersion } from "./versions.ts"
import { planView } from "../plan/plan-schema.ts"
import { json, route } from "./route.ts"
import {
  anyObject,
  array,
  boolean,
  closed,
  exactly,
  named,
  nullable,
  object,
  oneOf,
  optional,
  record,
  string,
  type Schema,
  type Shape,
} from "../base/typed-schema.ts"

/** A problem of a file of the server's folder, apart from its text. */
export interface WorkflowIssue {
  readonly code:
    | "workflow-name"
    | "workflow-link"
    | "workflow-count"
    | "workflow-encoding"
    | "workflow-too-large"
    | "workflow-unreadable"
    | "workflow-empty"
    | "workflow-name-case"
    | "workflow-tool-name"
    | "workflow-trigger"
    | "workflow-secret"
    | "workflow-time"
    | "workflow-route"
  readonly severity: "error" | "warning"
  readonly path: string
  readonly message: string
  readonly hint?: string
}

const workflowFields = {
  name: string(),
  description: nullable(string(), { description: "The `//` comment at the top of the file." }),
  version: nullable(string(), {
    description: "The first 12 hex digits of the SHA-256 of the file that serves; null for a file that is not served.",
  }),
  valid: boolean(),
  pinned: optional(
    exactly(true, {
      description: "An operator has it serve a kept version in place of its file. Absent where none did.",
    }),
  ),
  issues: array(issue as Schema<ValidateIssue | WorkflowIssue>),
  schemas: nullable(object({ input: anyObject(), output: anyObject() }), {
    description: "Null until there is a version without errors.",
  }),
  secrets: record(oneOf(["set", "missing"]), {
    description: "The secrets that it declares: whether the server has them.",
  }),
  fixed_secrets: optional(
    array(string(), {
      description:
        "Secrets that a request may not override alone: they decide where others of the server's own go, which a request would have to send, too. Absent where there are none.",
    }),
  ),
}

/** A workflow of the server's folder. While its file has errors, this is the last version without any. */
export type WorkflowAnswer = Shape<typeof workflow>

const workflow = named("Workflow", object(workflowFields))

export type WorkflowsAnswer = Shape<typeof workflows>

const workflows = named("Workflows", object({ workflows: array(workflow), next }))

export type WorkflowDetail = Shape<typeof workflowDetail>

const workflowDetail = named(
  "WorkflowDetail",
  object({ ...workflowFields, source: nullable(string()), ...otherFiles, plan: nullable(planView) }),
)

export const listWorkflows = route({
  id: "listWorkflows",
  method: "GET",
  path: "/workflows",
  group: "Workflows",
  operators: true,
  summary: "The workflows of the server's folder, by name",
  description: "Names, descriptions, types and versions; of a file that is refused, why.",
  query: closed(pageFields("as many as fit")),
  answers: { 200: json("A page of them.", workflows) },
})

const parameters = { name: "May have slashes: `tickets/triage`." }

export const getWorkflow = route({
  id: "getWorkflow",
  method: "GET",
  path: "/workflows/{name*}",
  group: "Workflows",
  operators: true,
  summary: "One workflow, with its source and plan",
  description: "What the list has, and the source and the plan.",
  parameters,
  answers: { 200: json("The workflow.", workflowDetail) },
  errors: ["not_found"],
})

export const executeWorkflow = route({
  ...startsRun,
  id: "executeWorkflow",
  method: "POST",
  path: "/workflows/{name*}/execute",
  group: "Workflows",
  summary: "Run a workflow of the server's folder, in all modes of `/execute`",
  description:
    "As `execute`, with the source of the server. Each workflow also has a path of its own here, with its types.",
  parameters,
  body: closed({ ...requestFields, ...requestedVersion }),
  example: { input: { name: "Ada" } },
  errors: [...startsRun.errors, "not_found"],
})
