import type { WireError } from "../log/events.ts"
import { RunFailure } from "../ports/run-failure.ts"

/** The same failure, seen from a place: issues that name no place of the workflow yet are put below it. */
export function failureAt(path: string, found: RunFailure): RunFailure {
  const { error } = found
  if (error.issues.length > 0 && error.issues.every((issue) => namesPlace(issue.path))) return found
  const issues =
    error.issues.length === 0
      ? [{ path, message: error.message }]
      : error.issues.map((issue) =>
          namesPlace(issue.path) ? issue : { ...issue, path: issue.path === "" ? path : `${path}.${issue.path}` },
        )
  return new RunFailure({ ...error, issues }, found.calls, found.answer)
}

/** Whether the error is that of a limit which the author or the caller set: it ends the run even where the step may be skipped. */
export function endsRun(error: WireError): boolean {
  return error.issues.some(({ path }) => limitPaths.test(path))
}

const limitPaths =
  /^(?:limits|options\.limits|agent\.[^.]+\.limits)\.(?:cost|tokens|model_calls|tool_calls|time_seconds)$/

const places =
  /^(?:agent|ask|dynamic|provider|model|mcp|tool|resource|prompt|output|input|secrets|limits|options)(?:[.[]|$)/

function namesPlace(path: string): boolean {
  return places.test(path)
}
