import type { ErrorKind, WireError } from "../ports/events.ts"

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
