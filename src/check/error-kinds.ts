/** The ways in which a run fails, or is refused before it begins. `api/error-kinds.ts` adds those of HTTP requests. */
export const errorKinds = [
  "payload_too_large",
  "validation_error",
  "input_error",
  "cancelled",
  "internal_error",
  "provider_error",
  "output_error",
  "tool_error",
  "blocked_destination",
  "evaluation_error",
  "limit_exceeded",
  "rate_limited",
  "budget_exceeded",
  "storage_full",
  "overloaded",
  "timeout",
] as const

export type ErrorKind = (typeof errorKinds)[number]
