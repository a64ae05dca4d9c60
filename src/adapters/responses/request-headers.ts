import { failure } from "../../run/failure.ts"
import type { ModelRequest } from "../../run/ports.ts"

/**
 * The headers of a call. Those that the workflow sets win over the service's own. A value that would break the message
 * is refused by name; it may be a secret, so it is not shown.
 */
export function requestHeaders(request: ModelRequest): Record<string, string> {
  const { api_key, headers } = request.backend
  const result: Record<string, string> = {
    "content-type": "application/json",
    accept: request.deltas ? "text/event-stream, application/json" : "application/json",
  }
  if (api_key !== null && api_key !== "") result["authorization"] = `Bearer ${api_key}`
  for (const [name, value] of Object.entries(headers)) result[name.toLowerCase()] = value
  for (const [name, value] of Object.entries(result)) {
    if (/^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)) continue
    throw failure(
      "evaluation_error",
      request.path,
      `The header ${name.slice(0, 60)} holds a character that a header cannot have.`,
    )
  }
  return result
}
