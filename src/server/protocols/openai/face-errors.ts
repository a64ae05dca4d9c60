import type { JsonObject } from "../../../base/json-value.ts"
import type { ApiError } from "../../../api/error-kinds.ts"
import { likeOpenAi } from "../../answer-error.ts"

/** Clients of OpenAI's APIs repeat many errors by themselves: one after a run was stored would start a second run. */
export const noRetry = { "x-should-retry": "false" }

/** An error inside a stream. */
export function errorFrame(error: ApiError): string {
  return `data: ${JSON.stringify({ error: likeOpenAi(error) as unknown as JsonObject })}\n\n`
}

export const rejectedError: ApiError = {
  kind: "output_error",
  message: "The text so far was rejected, and the run is cancelled: ask again",
  issues: [],
}
