import type { ApiErrorKind } from "./api-error.ts"

/** The HTTP status of each kind of error. */
export const errorStatus: Readonly<Record<ApiErrorKind, number>> = {
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  run_expired: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  validation_error: 422,
  input_error: 422,
  rate_limited: 429,
  cancelled: 409,
  internal_error: 500,
  provider_error: 502,
  output_error: 502,
  tool_error: 502,
  blocked_destination: 422,
  evaluation_error: 422,
  limit_exceeded: 422,
  overloaded: 503,
  timeout: 504,
}
