import type { ErrorKind, WireError } from "../log/events.ts"

/** Every kind of error that an HTTP response may carry: those of runs, and those of requests. */
export type ApiErrorKind =
  | ErrorKind
  | "invalid_request"
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "conflict"
  | "run_expired"
  | "unsupported_media_type"

export type ApiError = WireError<ApiErrorKind>

/** The body of every answer that is an error. */
export interface ErrorAnswer {
  readonly error: ApiError
  /** Names a run that goes on without the client, which can ask for it later. */
  readonly run_id?: string
}

/** The name of the frame that ends a stream which can not go on to the run's end; its data is an `ErrorAnswer`. */
export const streamError = "stream_error"

/** The HTTP status of each kind of error. */
export const errorStatus: Readonly<Record<ApiErrorKind, number>> = {
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  cancelled: 409,
  run_expired: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  validation_error: 422,
  input_error: 422,
  blocked_destination: 422,
  evaluation_error: 422,
  limit_exceeded: 422,
  rate_limited: 429,
  budget_exceeded: 429,
  storage_full: 429,
  internal_error: 500,
  provider_error: 502,
  output_error: 502,
  tool_error: 502,
  overloaded: 503,
  timeout: 504,
}

/** Advice for callers about each kind, for docs/http.md. */
export const errorAdvice: Readonly<Record<ApiErrorKind, string>> = {
  invalid_request: "fix the request: the issues name the fields",
  unauthorized: "send `Authorization: Bearer …` with a key of `WIRE_API_KEYS`",
  forbidden:
    "the request came from another site's page (see `WIRE_ALLOWED_ORIGINS` and `WIRE_ALLOWED_HOSTS`), or the question is for a group that the caller is not a member of, or an operator's key may not do this: the message says which",
  not_found: "no such route or run, or it belongs to another caller",
  method_not_allowed: "use a method of `Allow`",
  conflict:
    "this `Idempotency-Key` had another body, or the run has not ended, or the question is settled: the message says which",
  cancelled: "someone cancelled the run",
  run_expired: "the run was deleted, by request or by retention",
  payload_too_large: "send less, raise `WIRE_MAX_BODY` or `WIRE_MAX_FILE`, or let the workflow give less",
  unsupported_media_type: "send JSON; of a file, the media type that its contents have",
  validation_error: "fix the source: the issues have places and hints",
  input_error: "fix `input`, `secrets` or `options.limits`: the issues have paths",
  blocked_destination: "the source names an address that `WIRE_EGRESS` forbids",
  evaluation_error: "a value lacked what an expression needs: give it a type, or a default",
  limit_exceeded:
    "raise the limit that the message names (`limits`, `max_steps`, `max_calls`, `WIRE_MAX_…`), or do less; see [limits](#limits) and [cost and limits](cost-and-limits.md#limits)",
  rate_limited:
    "you ask too often, or have as many runs, as much in the store or as many unread answers as one caller may have: wait as long as `Retry-After` says",
  budget_exceeded:
    "a [budget](cost-and-limits.md#budgets) of `WIRE_BUDGETS` is used up: the issues name it, its `limit` and what is `used`; wait as long as `Retry-After` says, which is to the end of its period",
  storage_full:
    "the caller's [files](files.md) take all of the room that they may (`WIRE_MAX_FILES_PER_CALLER`): delete some; the room of a deleted file is free after an hour",
  internal_error:
    "a bug of ours, or something of the run that was stored is damaged (the message says so): the service's log has more",
  provider_error: "the model backend failed or refused, after retries",
  output_error: "the model's answer did not fit its contract, after repairs",
  tool_error: "an MCP server or tool failed",
  overloaded:
    "at capacity, shutting down, out of file descriptors, or the store cannot be written to (the message says which): wait as long as `Retry-After` says",
  timeout: "the run's or a call's time is up",
}
