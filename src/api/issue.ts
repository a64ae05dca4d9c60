import type { Issue } from "../source/diagnostic.ts"
import { errorStatus, type ApiErrorKind, type ErrorAnswer } from "./error-kinds.ts"
import { array, integer, named, object, oneOf, optional, string, type Schema } from "./schema.ts"

const position = object({ line: integer(), column: integer(), offset: integer() })

export const issue = named(
  "Issue",
  object({
    code: optional(string()),
    severity: optional(oneOf(["error", "warning"])),
    path: string(),
    message: string(),
    hint: optional(string()),
    range: optional(named("Range", object({ start: position, end: position }))),
    related: optional(
      array(
        object({
          message: string(),
          file: optional(string({ description: "The path from the root, where it is another file." })),
          range: named("Range", object({ start: position, end: position })),
        }),
        { description: "Other places that belong to it, such as those of the way by which a value came." },
      ),
    ),
    upstream_status: optional(
      integer({ description: "The HTTP status of the backend or server, where there was one." }),
    ),
  }),
)

/** A diagnostic of the source, or a misfit of `input` or `secrets` (which has no range). */
export type ValidateIssue = Issue | Omit<Issue, "range">

export const errorAnswer: Schema<ErrorAnswer> = named(
  "Error",
  object({
    error: object({
      kind: oneOf(Object.keys(errorStatus) as ApiErrorKind[]),
      message: string({ description: "The message of the first issue, with a count when there are more." }),
      issues: array(issue),
    }),
    run_id: optional(
      string({ description: "Of a run that goes on without the client: `Location` says where to ask for it later." }),
    ),
  }),
)
