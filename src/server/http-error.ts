import { errorStatus, type ApiError, type ApiErrorKind } from "../api/error-kinds.ts"
import type { ErrorIssue } from "../log/events.ts"

/** A response with an error: thrown by a route, written by the error handler. */
export class HttpError extends Error {
  readonly error: ApiError
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The run that goes on without the client. */
  readonly run_id: string | undefined

  constructor(
    error: ApiError,
    headers: Readonly<Record<string, string>> = {},
    run_id?: string,
    status = errorStatus[error.kind],
  ) {
    super(error.message)
    this.name = "HttpError"
    this.error = error
    this.status = status
    this.headers = headers
    this.run_id = run_id
  }
}

export function refuse(
  kind: ApiErrorKind,
  message: string,
  issues: readonly ErrorIssue[] = [],
  headers: Readonly<Record<string, string>> = {},
): HttpError {
  return new HttpError({ kind, message, issues }, headers)
}

/** One issue at a place in the request. */
export function refuseAt(kind: ApiErrorKind, path: string, message: string, hint?: string): HttpError {
  return refuse(kind, message, [hint === undefined ? { path, message } : { path, message, hint }])
}

export function runExpired(): HttpError {
  return refuse(
    "run_expired",
    "This run was deleted: by request, or because it ended longer ago than WIRE_RETENTION (or, with private values, WIRE_PRIVATE_RETENTION)",
  )
}
