import type { ValidateIssue } from "../api/issue.ts"
import type { WorkflowIssue } from "../api/workflows.ts"
import type { ErrorIssue } from "../log/events.ts"
import { wireError } from "../ports/run-failure.ts"
import { HttpError } from "./http-error.ts"

/** A workflow of the folder that cannot be run, and why. */
export function invalidWorkflow(name: string, issues: readonly (ValidateIssue | WorkflowIssue)[]): HttpError {
  const [first, ...rest] = issues.map((issue): ErrorIssue => {
    const { path, message, code, hint } = issue
    const range = "range" in issue ? { range: { start: { ...issue.range.start }, end: { ...issue.range.end } } } : {}
    const file = "file" in issue && issue.file !== undefined ? { file: issue.file } : {}
    return { path, message, code, ...(hint !== undefined && { hint }), ...file, ...range }
  })
  return new HttpError(
    wireError("validation_error", [first ?? { path: "", message: `The workflow ${name} is not valid` }, ...rest]),
  )
}
