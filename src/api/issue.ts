import type { Issue } from "../source/diagnostic.ts"
import { errorStatus, type ApiErrorKind, type ErrorAnswer } from "./error-kinds.ts"
import { array, named, object, oneOf, optional, string, type Schema } from "../base/typed-schema.ts"
import { issue } from "../log/event-schemas.ts"

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
