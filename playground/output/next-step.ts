import type { ApiError, ApiErrorKind } from "../../src/api/error-kinds.ts"

/** What to do about an error whose issues do not say it themselves. */
const nextSteps: Readonly<Partial<Record<ApiErrorKind, string>>> = {
  unauthorized: "Enter an API key of this service.",
  forbidden: "Open the playground at the service's own address, or let the operator allow this one.",
  not_found: "It is gone, or it is not yours: open it with the key that started it, or run the workflow again.",
  run_expired: "Nothing of it is left: neither its events, nor its source and input.",
  payload_too_large: "Send less, or return less; the limits are settings of the service.",
  rate_limited: "Wait a moment, then run again.",
  internal_error: "Run it again; if it happens again, tell the operator the time and the run's id.",
  output_error: "Make the output contract simpler or the instruction clearer, or take a stronger model.",
  tool_error: "Check the server's address and its tools, then run again.",
  blocked_destination: "The operator decides where workflows may call; ask for this host to be allowed.",
  evaluation_error: "Give the expression a default with ??, or declare the value's type.",
  limit_exceeded: "Raise the limit in the workflow, or give it less to do.",
  overloaded: "The service is busy. Wait a moment, then run again.",
}

/** The hint of the error's own issues, else what its kind, and the status of the provider or MCP server, suggest. */
export function nextStep({ kind, issues }: ApiError): string | undefined {
  const own = issues.find(({ hint }) => hint !== undefined)?.hint
  if (own !== undefined) return own
  const status = issues.find(({ upstream_status }) => upstream_status !== undefined)?.upstream_status
  if (kind === "provider_error")
    return (
      afterAnswer("provider", status) ?? "Check the provider's endpoint and that it can be reached, then run again."
    )
  if (kind === "tool_error") return afterAnswer("server", status) ?? nextSteps.tool_error
  const path = issues[0]?.path ?? ""
  if (path.startsWith("options.limits.")) return "Raise the limit in Options, or give the workflow less to do."
  if (kind === "timeout") return afterTimeout(path)
  return nextSteps[kind]
}

function afterTimeout(path: string): string {
  if (path === "") return "Allow more time in Options, or ask for less."
  if (path.startsWith("ask."))
    return "Allow more time with `expires_seconds`, or say with `on_expiry` how the run goes on."
  if (/^(agent\.[^.]+\.)?limits\./.test(path)) return "Raise the limit in the workflow, or give it less to do."
  if (path.startsWith("agent."))
    return "The model took too long. Run again, ask for less, or raise `timeout_seconds` in the model's `inference`."
  return "The server took too long. Check that it is running and can be reached, then run again."
}

function afterAnswer(who: "provider" | "server", status: number | undefined): string | undefined {
  if (status === undefined) return undefined
  if (status < 300) return `The ${who}'s answer could not be used. Run again; if that fails too, check the endpoint.`
  if (status === 401 || status === 403)
    return `The ${who} did not accept the key. Check the secret and its rights, then run again.`
  if (status === 402) return `The account at the ${who} has no credit left. Add some, then run again.`
  if (status === 404)
    return who === "provider"
      ? "Check the provider's endpoint and the model's id, then run again."
      : "Check the server's endpoint, then run again."
  if (status === 408 || status === 504) return `The ${who} took too long. Run again, or ask for less.`
  if (status === 413) return "Send less: shorten the instruction, its context or the input."
  if (status === 429)
    return `The ${who} limits how often it may be called. Wait a moment, or lower the calls at a time in Options, then run again.`
  if (status >= 500)
    return `The ${who} has a problem of its own. Wait a moment, then run again; the workflow need not change.`
  return who === "provider"
    ? "The provider did not accept the request. Check the model's settings and the output contract."
    : undefined
}
