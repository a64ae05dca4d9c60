import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, SseError } from "@modelcontextprotocol/client"
import { cutText } from "../../base/cut-text.ts"
import { EgressFailure } from "../../ports/egress.ts"
import type { ErrorIssue } from "../../log/events.ts"
import type { ToolServer } from "../../ports/tools.ts"
import { RunFailure, wireError } from "../../ports/run-failure.ts"
import { cleanLine } from "./clean-text.ts"

/** The time of a call is up. */
export class CallTimeout extends Error {
  constructor(message: string) {
    super(message)
    this.name = "CallTimeout"
  }
}

/**
 * What went wrong with a server, as a failure of the run whose sentences begin with `subject`. What it answered with is not
 * repeated, save the message of a protocol error: a body could hold a secret. Bugs are thrown on.
 */
export function explainFailure(error: unknown, server: ToolServer, subject = `mcp.${server.name}`): RunFailure {
  const path = `mcp.${server.name}`
  const tool = (issue: Omit<ErrorIssue, "path">, at = path): RunFailure =>
    new RunFailure(wireError("tool_error", [{ path: at, ...issue }]))
  const cause = firstKnown(error)
  if (cause instanceof RunFailure) return atEndpoint(cause, path)
  if (cause instanceof CallTimeout) {
    return new RunFailure(wireError("timeout", [{ path, message: `${subject} ${cause.message}` }]))
  }
  if (cause instanceof EgressFailure) {
    if (cause.reason === "total_timeout") {
      return new RunFailure(wireError("timeout", [{ path, message: `${subject}: ${cause.message}` }]))
    }
    if (cause.isOverload) {
      return new RunFailure(wireError("overloaded", [{ path, message: cause.message }]))
    }
    return tool({ message: `${subject}: ${cause.message}` })
  }
  const status = statusOf(cause)
  if (status === 401 || status === 403) return refused(server, subject, status)
  if (status !== undefined) return tool({ message: `${subject} answered with HTTP ${status}`, upstream_status: status })
  if (cause instanceof ProtocolError) {
    return tool({
      message: `${subject} answered with an error: ${cutText(cleanLine(cause.message), 500)} (${cause.code})`,
    })
  }
  if (cause instanceof SdkError) return tool({ message: `${subject} ${sdkSentence(cause)}` })
  if (cause instanceof Error && (cause.name === "SyntaxError" || cause.name === "ZodError")) {
    return tool({ message: `${subject} answered with something that is not a message of the protocol` })
  }
  // The SDK throws plain errors for what a server does wrong; a mistake of ours is one of these.
  if (!(cause instanceof Error) || cause instanceof TypeError || cause instanceof RangeError) throw error
  if (cause instanceof ReferenceError) throw error
  return tool({ message: `${subject}: ${plainSentence(cause)}` })
}

/** The HTTP status that a failure of the SDK's speaks of. */
export function statusOf(error: unknown): number | undefined {
  if (error instanceof SdkHttpError) return error.status
  if (error instanceof SseError) return error.code
  // The older transport says it in words, with the body after them.
  const [, code] =
    error instanceof Error ? (/^Error POSTing to endpoint \(HTTP (\d{3})\)/.exec(error.message) ?? []) : []
  return code === undefined ? undefined : Number(code)
}

/** The error itself, or the one of ours that the SDK wrapped. */
function firstKnown(error: unknown): unknown {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 10; at = at.cause, depth++) {
    if (at instanceof RunFailure || at instanceof EgressFailure || at instanceof CallTimeout) return at
  }
  return error
}

/** A refusal of the egress policy: its place is the server's address. */
function atEndpoint({ error }: RunFailure, path: string): RunFailure {
  const issues = error.issues.map((issue) => (issue.path === "" ? { ...issue, path: `${path}.endpoint` } : issue))
  return new RunFailure({ ...error, issues })
}

function refused({ name, headers, auth }: ToolServer, subject: string, status: number): RunFailure {
  const path = `mcp.${name}`
  const header = Object.keys(headers).find((key) => key.toLowerCase() === "authorization")
  const others = Object.keys(headers).filter((key) => key !== header)
  const said = `${subject} answered with HTTP ${status}`
  const [at, message] =
    header !== undefined
      ? [`${path}.headers.${header}`, `${said}: it does not accept the header ${header} that it was sent`]
      : others.length > 0
        ? [`${path}.headers`, `${said}: it does not accept ${list(others)}, and it was sent no Authorization`]
        : [`${path}.headers.Authorization`, `${said}: it requires an Authorization header, and it was sent none`]
  if (auth !== undefined) {
    const refusal = `${said}: it does not accept the token that \`auth\` got`
    return new RunFailure(
      wireError("tool_error", [{ path: `${path}.auth`, message: refusal, upstream_status: status }]),
    )
  }
  const hint =
    header === undefined && status === 401
      ? "Signing in as a user in a browser is not supported: use `auth { }` with client credentials, or a header."
      : undefined
  return new RunFailure(
    wireError("tool_error", [{ path: at, message, upstream_status: status, ...(hint === undefined ? {} : { hint }) }]),
  )
}

function list(headers: readonly string[]): string {
  return `the header${headers.length === 1 ? "" : "s"} ${headers.join(", ")}`
}

function sdkSentence({ code, cause }: SdkError): string {
  switch (code) {
    case SdkErrorCode.CapabilityNotSupported:
      return "asks for input: people can answer with `elicitation: ask` on the server (sampling and roots are not offered)"
    case SdkErrorCode.InputRequiredRoundsExceeded:
      return "asked for the same call again and again"
    case SdkErrorCode.UnsupportedResultType:
      return "answered with a kind of result that this service does not know"
    case SdkErrorCode.InvalidResult:
      return "answered with a result that the protocol does not allow"
    case SdkErrorCode.ConnectionClosed:
    case SdkErrorCode.NotConnected:
      return "closed the connection"
    case SdkErrorCode.ClientHttpUnexpectedContent:
      return "answered with neither JSON nor an event stream"
    case SdkErrorCode.RequestTimeout:
      return "did not answer in time"
    default:
      // The SDK has one code for all that goes wrong while it looks for a revision; what has a cause is something else.
      return cause === undefined
        ? "does not speak a protocol revision that this service knows"
        : "could not be connected to"
  }
}

function plainSentence(error: Error): string {
  if (error.message.startsWith("Server's protocol version is not supported")) {
    return "it speaks a protocol revision that this service does not know"
  }
  return /^The server\b/.test(error.message) ? lowerFirst(error.message) : "the connection failed"
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
