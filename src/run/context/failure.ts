import type { WireError } from "../../log/events.ts"
import { isWithin } from "../../plan/call-scope.ts"
import { RunEnding, RunFailure } from "../../ports/run-failure.ts"

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

/** What a failure is judged in: the run, or the workflow that is called in a scope. */
interface FailingIn {
  readonly scope: string | null
  readonly signal: AbortSignal
}

/**
 * Whether the error is that of a limit which the author or the caller set: it ends the run, or the called workflow that has the limit, even
 * where the step may be skipped.
 */
export function endsRun(error: WireError, scope: string | null): boolean {
  return error.issues.some(({ path }) => {
    if (budgetPaths.test(path)) return true
    const limit = limitPaths.exec(path)
    return limit !== null && isWithin(scope, limit[1] ?? null)
  })
}

/** Whether the run may go on without what failed, if the workflow says so: nothing that ends a run always was the cause. */
export function maySkip(error: unknown, { scope, signal }: FailingIn): error is RunFailure {
  return !signal.aborted && error instanceof RunFailure && !(error instanceof RunEnding) && !endsRun(error.error, scope)
}

/**
 * A failure inside a called workflow, as its caller sees it: paths begin with the scope of the call. Those of limits have their scope
 * already, so that they tell which call, or that the run, has the limit.
 */
export function failureOfCall(scope: string, around: string | null, found: RunFailure): RunFailure {
  const { error } = found
  const issues = (error.issues.length === 0 ? [{ path: "", message: error.message }] : error.issues).map((issue) => {
    const { path } = issue
    if (limitPaths.test(path) || budgetPaths.test(path) || path.startsWith(`${scope}/`)) return issue
    return { ...issue, path: path === "" ? scope : `${scope}/${path}` }
  })
  const placed = { ...error, issues }
  // A limit of the called workflow fails the call alone; one around it, or of the run's memory, ends what it ended before.
  const isOwnLimit = issues.some(({ path }) => limitPaths.test(path)) && !endsRun(placed, around)
  return found instanceof RunEnding && !isOwnLimit ? new RunEnding(placed) : new RunFailure(placed)
}

const limitPaths =
  /^(?:(.+)\/)?(?:limits|options\.limits|agent\.[^./]+\.limits)\.(?:cost|tokens|model_calls|tool_calls|time_seconds)$/

/** Places in the operator's file of budgets. */
const budgetPaths = /^(?:callers|workflows)\..+\.(?:cost|tokens|runs)_per_(?:hour|day|month)$/

const places =
  /^(?:agent|ask|dynamic|provider|model|mcp|api|tool|resource|prompt|output|input|secrets|limits|options)(?:[.[]|$)/

/** Begins with the scope of a call. */
const scoped = /^\w+@/

function namesPlace(path: string): boolean {
  return places.test(path) || budgetPaths.test(path) || scoped.test(path)
}
