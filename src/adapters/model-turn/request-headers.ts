import { isHeaderName, isHeaderValue } from "../../base/header-text.ts"
import { failure } from "../../ports/run-failure.ts"
import { callerHeader, type ModelRequest } from "../../ports/model.ts"

/**
 * The headers of a call, with `own` of the API. Those that the workflow sets win over the service's own. A value that would break the message
 * is refused by name; it may be a secret, so it is not shown.
 */
export function requestHeaders(
  request: ModelRequest,
  own: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const { headers, endpoint } = request.backend
  const result: Record<string, string> = {
    "content-type": "application/json",
    accept: request.deltas ? "text/event-stream, application/json" : "application/json",
    ...own,
  }
  if (endpoint === "demo") result[callerHeader] = `${request.run_id} ${request.name}`
  for (const name in headers) result[name.toLowerCase()] = headers[name] ?? ""
  for (const name in result) {
    if (isHeaderName(name) && isHeaderValue(result[name] ?? "")) continue
    throw failure(
      "evaluation_error",
      request.path,
      `The header ${name.slice(0, 60)} contains a character that is not allowed in headers.`,
    )
  }
  return result
}

/** The header that carries a key. */
export function bearer(api_key: string | null): Record<string, string> {
  return api_key === null || api_key === "" ? {} : { authorization: `Bearer ${api_key}` }
}
