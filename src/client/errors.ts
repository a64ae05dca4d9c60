import type { ApiError, ApiErrorKind } from "../api/error-kinds.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonValue } from "../base/json-value.ts"
import type { ErrorIssue } from "../log/events.ts"
import { readObject } from "./read-json.ts"

/** The service said no, or the run failed. `kind` and `issues` are those of the contract. */
export class WireworksError extends Error {
  readonly kind: ApiErrorKind
  readonly issues: readonly ErrorIssue[]
  /** The HTTP status; 0 for an error that came from the run's events. */
  readonly status: number
  readonly run_id: string | undefined
  /** Seconds after which a retry makes sense, where the service named them. */
  readonly retry_after: number | undefined

  constructor(error: ApiError, status: number, run_id?: string, retry_after?: number) {
    super(error.message)
    this.name = "WireworksError"
    this.kind = error.kind
    this.issues = error.issues
    this.status = status
    this.run_id = run_id
    this.retry_after = retry_after
  }
}

/** The error of an answer. An answer that is not our JSON, such as a proxy's, is described by its status. */
export async function errorOf(response: Response): Promise<WireworksError> {
  const error = await readObject(response).then(
    (body) => readError(body["error"]),
    () => undefined,
  )
  return new WireworksError(error ?? unreadable(response), response.status, runIn(response), retryAfter(response))
}

/** An answer that says it is good and is not one of this service. */
export function misfit(response: Response): WireworksError {
  return new WireworksError(unreadable(response), response.status, runIn(response))
}

/** An error in an answer or a stream; undefined for what is none. */
export function readError(value: JsonValue | undefined): ApiError | undefined {
  if (!isJsonObject(value) || typeof value["kind"] !== "string") return undefined
  const { kind, message, issues } = value
  return {
    kind: kind as ApiErrorKind,
    message: typeof message === "string" ? message : kind,
    issues: Array.isArray(issues) ? (issues.filter(isJsonObject) as unknown as ErrorIssue[]) : [],
  }
}

function unreadable({ status, ok }: Response): ApiError {
  const isOurs = ok || status >= 500
  const message = `The service answered with status ${status}${ok ? " and nothing that can be read" : ""}`
  return { kind: isOurs ? "internal_error" : "invalid_request", message, issues: [] }
}

function runIn({ headers }: Response): string | undefined {
  return headers.get("x-service-run-id") ?? undefined
}

function retryAfter({ headers }: Response): number | undefined {
  const seconds = Number(headers.get("retry-after") ?? Number.NaN)
  return Number.isFinite(seconds) ? seconds : undefined
}
