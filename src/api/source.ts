import { exampleSource, executeBody, oneSource, requestFields, sourceFields } from "./execute.ts"
import { issue } from "../log/event-schemas.ts"
import type { ValidateIssue } from "./issue.ts"
import { planView } from "../plan/plan-schema.ts"
import { diff } from "./diff.ts"
import { reach } from "./reach.ts"
import { json, route } from "./route.ts"
import {
  anyObject,
  array,
  boolean,
  closed,
  integer,
  maybe,
  named,
  nullable,
  object,
  optional,
  string,
  type Schema,
  type Shape,
} from "../base/typed-schema.ts"

export type ValidateAnswer = Shape<typeof validation>

const validation = named(
  "Validation",
  object({
    valid: boolean(),
    issues: array(issue as Schema<ValidateIssue>),
    issues_omitted: optional(
      integer({ description: "How many more issues there are, where they are too many to send." }),
    ),
    plan: nullable(planView),
    reach: optional(reach),
    diff: optional(
      nullable(diff, { description: "What the change from `compare_with` means; null where that has errors." }),
    ),
    schemas: nullable(object({ input: anyObject(), secrets: anyObject(), output: anyObject() }), {
      description: "JSON Schemas; there when the workflow is valid.",
    }),
  }),
)

export type ValidateBody = Shape<typeof validateBody>

const validateBody = closed(
  {
    ...sourceFields,
    ...requestFields,
    input: maybe(anyObject({ description: "Checked against the `input` block, where given." })),
    secrets: maybe(anyObject({ description: "Checked against the `secrets` block, where given." })),
    reach: maybe(boolean({ description: "Whether to answer what the workflow can reach at most." })),
    compare_with: maybe(
      closed(sourceFields, {
        ...oneSource,
        description: "An older version of the source: the answer says what the change means.",
      }),
    ),
    rerun_of: maybe(string({ description: "An earlier run: each node then says whether it would run again." })),
  },
  oneSource,
)

export const validate = route({
  id: "validate",
  method: "POST",
  path: "/validate",
  group: "Source",
  operators: true,
  summary: "Diagnostics and the plan",
  description:
    "Checks the source without running it. The body is that of `/execute`, of which `options` do not count, with three fields more. Returns all diagnostics, with their places and hints, and the plan when there is no error.",
  bodyIs: "source",
  body: validateBody,
  example: { workflow_source: exampleSource, input: { name: "Ada" } },
  answers: { 200: json("What there is to say.", validation) },
  errors: ["not_found", "run_expired"],
})

export type FormatAnswer = Shape<typeof formatted>

const formatted = named("Formatted", object({ formatted_workflow_source: string(), changed: boolean() }))

export const format = route({
  id: "format",
  method: "POST",
  path: "/format",
  group: "Source",
  operators: true,
  summary: "Canonical source",
  description:
    "The source in its canonical layout. Runs nothing. The body is that of `/execute`, of which only the source counts.",
  bodyIs: "source",
  body: executeBody,
  example: { workflow_source: exampleSource },
  answers: {
    200: {
      description: "The formatted source.",
      content: { "application/json": formatted, "text/plain": string() },
    },
  },
  errors: ["validation_error"],
})
