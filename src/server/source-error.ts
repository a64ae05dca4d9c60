import type { ErrorIssue, WireError } from "../run/events.ts"
import { wireError } from "../run/failure.ts"
import type { Diagnostic } from "../source/diagnostic.ts"
import { isError, toIssue } from "../source/diagnostic.ts"
import { LineMap } from "../source/line-map.ts"

/** A source's errors as the body of a refusal. Warnings stay out of it. */
export function sourceError(text: string, diagnostics: readonly Diagnostic[]): WireError {
  const lines = new LineMap(text)
  const [first, ...rest] = diagnostics.filter(isError).map((found): ErrorIssue => {
    const { path, message, code, hint, range } = toIssue(found, lines)
    return {
      path,
      message,
      code,
      ...(hint !== undefined && { hint }),
      range: { start: { ...range.start }, end: { ...range.end } },
    }
  })
  if (first === undefined) throw new Error("There is no error to tell")
  return wireError("validation_error", [first, ...rest])
}
