import type { ErrorIssue, ErrorKind, ModelCallRecord, WireError } from "../log/events.ts"

/** An expected way for a run to fail: becomes `agent_failed` and `workflow_failed`, never a crash. */
export class RunFailure extends Error {
  readonly error: WireError
  readonly calls: readonly ModelCallRecord[]
  /** The model's last answer, where it was rejected. */
  readonly answer: string | undefined

  constructor(error: WireError, calls: readonly ModelCallRecord[] = [], answer?: string) {
    super(error.message)
    this.name = "RunFailure"
    this.error = error
    this.calls = calls
    this.answer = answer
  }
}

/** A failure that the model's own answer caused: the same answer would cause it again. */
export class AnswerFailure extends RunFailure {}

/** A failure that ends the run even where the step may be skipped. */
export class RunEnding extends RunFailure {}

/** An error from its issues: the message is the first issue's, with a count when there are more. */
export function wireError<Kind extends string = ErrorKind>(
  kind: Kind,
  issues: readonly [ErrorIssue, ...ErrorIssue[]],
): WireError<Kind> {
  const more = issues.length - 1
  return { kind, message: more > 0 ? `${issues[0].message} (and ${more} more)` : issues[0].message, issues }
}

export function failure(kind: ErrorKind, path: string, message: string): RunFailure {
  return new RunFailure(wireError(kind, [{ path, message }]))
}
