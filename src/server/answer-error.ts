import type { FastifyError, FastifyReply } from "fastify"
import { cutText } from "../base/cut-text.ts"
import { didYouMean } from "../base/did-you-mean.ts"
import { errorStatus, type ApiError } from "../api/error-kinds.ts"
import { tooLargeBody } from "../base/too-large-body.ts"
import { refusal, type Schema } from "../base/typed-schema.ts"
import type { ErrorIssue } from "../log/events.ts"
import { RunFailure, wireError } from "../ports/run-failure.ts"
import { Damaged, NoSuchRun, StoreFailure } from "../ports/store.ts"
import { FilesFailure } from "../ports/files.ts"
import { FileRefusal } from "../run/files/files.ts"
import { HttpError, refuse, runExpired } from "./http-error.ts"

/** Any error → the contract's body. What is not expected is a bug: logged, and nothing of the request echoed. */
export function answerError(error: unknown, reply: FastifyReply, log: (error: unknown) => void): FastifyReply {
  const known = isTooLarge(error) ? tooLarge(reply) : asHttpError(error)
  if (known === undefined) log(error)
  const answer = known ?? internalError()
  return sendError(reply, answer.error, answer.headers, answer.run_id)
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "FST_ERR_CTP_BODY_TOO_LARGE"
}

/** A route may take less than the service does. */
function tooLarge({ request, server }: FastifyReply): HttpError {
  const { bodyLimit } = request.routeOptions
  return bodyLimit < (server.initialConfig.bodyLimit ?? 0)
    ? refuse(
        "payload_too_large",
        `The body is larger than ${bodyLimit} bytes, which is the most that this route takes: no setting raises it`,
      )
    : refuse("payload_too_large", tooLargeBody(bodyLimit))
}

/** Says nothing of the bug. */
export const internalError = (): HttpError =>
  refuse("internal_error", "Internal error: the service's log has the details")

export function sendError(
  reply: FastifyReply,
  error: ApiError,
  headers: Readonly<Record<string, string>> = {},
  run_id?: string,
): FastifyReply {
  const periods = error.issues.flatMap(({ retry_after }) => retry_after ?? [])
  const isBusy = error.kind === "overloaded" || error.kind === "rate_limited" || error.kind === "budget_exceeded"
  const waits = isBusy ? { "retry-after": String(Math.max(1, ...periods)) } : {}
  if (isBusy || error.kind === "payload_too_large") lingerAfter(reply)
  // The route says otherwise once there is a run. What was refused before can be asked for again, but not with a key that is taken.
  const isChat = isOfChat(reply)
  const retry =
    isChat && !reply.hasHeader("x-should-retry") && (isBusy || error.kind === "conflict")
      ? { "x-should-retry": String(isBusy) }
      : {}
  return reply
    .code(errorStatus[error.kind])
    .headers({ ...waits, ...retry, ...headers })
    .type("application/json; charset=utf-8")
    .send(JSON.stringify({ error: isChat || isDemo(reply) ? likeOpenAi(error) : error, run_id }))
}

/** Also where there is no such route. */
function isOfChat({ request }: FastifyReply): boolean {
  return request.url.startsWith("/v1/")
}

function isDemo({ request }: FastifyReply): boolean {
  return request.routeOptions.config.errors === "openai"
}

/** Where routes speak OpenAI's APIs, errors have the fields of those beside ours. */
export function likeOpenAi(error: ApiError): ApiError & { readonly type: string; param: string | null; code: string } {
  const { status } = new HttpError(error)
  const [first] = error.issues
  const type = status === 429 ? "rate_limit_error" : status >= 500 ? "server_error" : "invalid_request_error"
  return {
    ...error,
    type,
    param: first === undefined || first.path === "" ? null : first.path,
    code: first?.code ?? error.kind,
  }
}

/** How long a client may go on sending a body that was refused. */
const lingerMs = 2_000

/**
 * Fastify closes the connection over a body that it did not read whole. Closed while the client still writes, it is reset,
 * and the client never sees why: left open for a while, Node reads the rest and forgets it.
 */
function lingerAfter(reply: FastifyReply): void {
  const { raw } = reply.request
  if (raw.complete) return
  void reply.removeHeader("connection")
  const end = setTimeout(() => raw.socket.destroy(), lingerMs)
  const stop = (): void => clearTimeout(end)
  raw.once("end", stop)
  raw.once("close", stop)
}

export function asHttpError(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error
  if (error instanceof RunFailure) return new HttpError(error.error)
  if (error instanceof NoSuchRun) {
    return runExpired()
  }
  if (error instanceof FileRefusal) return refuse(error.kind, error.message)
  if (error instanceof FilesFailure) {
    return refuse("overloaded", "Files cannot be stored or read right now; try again later", [], { "retry-after": "5" })
  }
  if (error instanceof Damaged) {
    return refuse("internal_error", "Stored data of this run is damaged and cannot be read")
  }
  if (error instanceof StoreFailure) {
    return refuse("overloaded", "The store is unavailable right now; try again later", [], { "retry-after": "5" })
  }
  return error instanceof Error && "code" in error ? ofFastify(error as FastifyError) : undefined
}

/** Errors by which Fastify refuses a request before a route sees it. */
function ofFastify(error: FastifyError): HttpError | undefined {
  switch (error.code) {
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return refuse("unsupported_media_type", "The body must be application/json, or a file with a valid media type")
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return refuse("invalid_request", "The body's size does not match Content-Length")
    case "FST_ERR_CTP_EMPTY_JSON_BODY":
      return refuse("invalid_request", "The body is empty: a JSON object is expected")
    case "FST_ERR_MAX_PARAM_LENGTH":
      return refuse("not_found", "There is nothing with this id")
    case "FST_ERR_BAD_URL":
      return refuse("invalid_request", "The address is not a valid URL")
    default:
      return error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500
        ? refuse("invalid_request", "The request is malformed")
        : undefined
  }
}

/** Translates Ajv's findings into messages for the author. */
interface SchemaProblem {
  readonly keyword: string
  readonly instancePath: string
  readonly schemaPath: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string | undefined
  readonly parentSchema?: unknown
}

/** More than these are not useful, and thousands of wrong fields are not worth the time. */
const maxProblems = 50

export function describeProblems(problems: readonly SchemaProblem[], place: string): HttpError {
  const issues: ErrorIssue[] = []
  // A value that is not an object lacks fields and has too many: only the first problem is worth reporting.
  const shapeless = problems.filter(({ keyword, instancePath }) => keyword === "type" && instancePath === "")
  for (const problem of (shapeless.length > 0 ? shapeless : problems).slice(0, maxProblems)) {
    const issue = describeProblem(problem, place)
    if (issue !== undefined && !issues.some((other) => other.path === issue.path)) issues.push(issue)
  }
  const [first, ...rest] = issues
  if (first === undefined) return refuse("invalid_request", "The request does not have the expected shape")
  return new HttpError(wireError("invalid_request", [first, ...rest]))
}

function describeProblem(problem: SchemaProblem, place: string): ErrorIssue | undefined {
  const inside = problem.instancePath.split("/").slice(1)
  const path = inside.join(".")
  const named = path === "" ? `The ${place}` : `\`${path}\``
  const own = (problem.parentSchema as Partial<Schema<unknown>> | undefined)?.[refusal]
  if (own !== undefined) return { path, message: own }
  switch (problem.keyword) {
    case "additionalProperties": {
      const name = String(problem.params["additionalProperty"])
      const known = propertiesOf(problem.parentSchema)
      const near = didYouMean(name, known)
      const hint = near === undefined ? knownHint(known) : `Did you mean \`${near}\`?`
      const shown = cutText(name, 64)
      return { path: [...inside, shown].join("."), message: `Unknown field: ${shown}`, ...(hint && { hint }) }
    }
    case "required": {
      const name = String(problem.params["missingProperty"])
      // `oneOf` reports the two ways to send source together.
      if (problem.schemaPath.includes("/oneOf/")) return undefined
      return { path: [...inside, name].join("."), message: `\`${name}\` is missing` }
    }
    case "oneOf": {
      const both = problem.params["passingSchemas"] !== null
      const message = both
        ? "Only one of `workflow_source` and `workflow_source_base64` may be given"
        : "The source is missing: give `workflow_source_base64` or `workflow_source`"
      return { path: "workflow_source_base64", message }
    }
    // A field that may be null: what is wrong with its value is reported by itself.
    case "anyOf":
      return undefined
    case "type":
      if (problem.params["type"] === "null") return undefined
      return { path, message: `${named} must be ${types(problem.params["type"])}` }
    case "enum": {
      const allowed = problem.params["allowedValues"]
      const list = Array.isArray(allowed) ? allowed.map((value) => `\`${String(value)}\``).join(", ") : ""
      return { path, message: `${named} must be one of ${list}` }
    }
    default:
      return { path, message: `${named} ${problem.message ?? "does not have the expected shape"}` }
  }
}

function propertiesOf(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null || !("properties" in schema)) return []
  return Object.keys(schema.properties ?? {})
}

function knownHint(known: readonly string[]): string {
  return known.length === 0 ? "None is known here." : `Known are ${known.map((name) => `\`${name}\``).join(", ")}.`
}

function types(type: unknown): string {
  const names = (Array.isArray(type) ? type : String(type).split(",")).map(String)
  const plain = names.filter((name) => name !== "null")
  const article = (name: string): string => (/^[aeio]/.test(name) ? `an ${name}` : `a ${name}`)
  return plain.map(article).join(" or ")
}
