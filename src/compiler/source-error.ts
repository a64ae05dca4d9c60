import type { ErrorIssue, WireError } from "../log/events.ts"
import type { Diagnostic } from "../source/diagnostic.ts"
import { isError } from "../source/diagnostic.ts"
import { boundedIssues } from "./bounded-issues.ts"

/** A source's errors as the body of a refusal. Warnings stay out of it. */
export function sourceError(text: string, diagnostics: readonly Diagnostic[]): WireError {
  const errors = diagnostics.filter(isError)
  const issues = boundedIssues(text, errors).map((issue): ErrorIssue => {
    const { path, message, code, hint, range } = issue
    return {
      path,
      message,
      code,
      ...(hint !== undefined && { hint }),
      range: { start: { ...range.start }, end: { ...range.end } },
    }
  })
  const [first] = issues
  if (first === undefined) throw new Error("There is no error to report")
  const more = errors.length - 1
  const message = more > 0 ? `${first.message} (and ${more} more)` : first.message
  return { kind: "validation_error", message, issues }
}
