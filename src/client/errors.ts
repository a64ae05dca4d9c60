import type { ErrorAnswer } from "../api/shapes.ts"
import type { ApiError, ApiErrorKind } from "../api/api-error.ts"
import type { ErrorIssue } from "../ports/events.ts"

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
  const run_id = response.headers.get("x-service-run-id") ?? undefined
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN)
  const retry_after = Number.isFinite(seconds) ? seconds : undefined
  const error = (await readError(response)) ?? {
    kind: response.status >= 500 ? "internal_error" : "invalid_request",
    message: `The service answered with status ${response.status}`,
    issues: [],
  }
  return new WireworksError(error, response.status, run_id, retry_after)
}

async function readError(response: Response): Promise<ApiError | undefined> {
  try {
    const body = (await response.json()) as Partial<ErrorAnswer>
    return typeof body.error?.kind === "string" ? body.error : undefined
  } catch {
    return undefined
  }
}
