import { cutText } from "../../base/cut-text.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { TokenUsage } from "../../log/events.ts"
import type { ModelWatch } from "../../ports/model.ts"

/** What a backend said went wrong. */
export interface UpstreamError {
  /** HTTP status, or the one that an error within a 200 amounts to; null where there is none. */
  readonly status: number | null
  /** `rate_limit_exceeded`, `invalid_api_key` */
  readonly code: string | null
  /** The field that it blames. */
  readonly param: string | null
  /** Redacted and cut to a line: for logic and, where that is safe, for messages. */
  readonly message: string
  readonly retryable: boolean
  readonly retryAfterMs: number | null
}

/** One call of the backend that gave no answer. */
export class UpstreamFailure extends Error {
  readonly error: UpstreamError
  /** What it cost all the same. */
  readonly usage: TokenUsage | null

  constructor(error: UpstreamError, message = describe(error), usage: TokenUsage | null = null) {
    super(message)
    this.name = "UpstreamFailure"
    this.error = error
    this.usage = usage
  }
}

/** For a failure that is ours to word: a stream cut short, an answer of the wrong kind. */
export function brokenAnswer(message: string, retryable: boolean, usage: TokenUsage | null = null): UpstreamFailure {
  return new UpstreamFailure(
    { status: 200, code: null, param: null, message, retryable, retryAfterMs: null },
    message,
    usage,
  )
}

/** The model's own answer, which is not to be used: it refused, it was blocked, or it came to its limit. */
export class UnusableAnswer extends UpstreamFailure {
  /** It came to the limit of its output tokens. */
  readonly isCut: boolean

  constructor(message: string, usage: TokenUsage | null, isCut = false) {
    const error = { status: 200, code: null, param: null, message, retryable: false, retryAfterMs: null }
    super(error, message, usage)
    this.name = "UnusableAnswer"
    this.isCut = isCut
  }
}

/** Nobody parses such an answer: it would hold up everybody else. */
export function tooManyValues(): UpstreamFailure {
  return brokenAnswer("The model backend's answer holds too many JSON values", false)
}

function describe(error: UpstreamError): string {
  const { status, code, message } = error
  // A 401 or 403 likes to quote the key, or half of it; the code says enough.
  const detail = status === 401 || status === 403 ? "" : message
  const said = [code === null ? "" : ` (${code})`, detail === "" ? "" : `: ${detail}`].join("")
  return status === null ? `The model backend failed${said}` : `The model backend answered ${status}${said}`
}

/** Reads an error body in any of the known shapes. `body` may be anything, JSON or not. */
export function readUpstreamError(
  status: number,
  body: JsonValue | undefined,
  retryAfterMs: number | null,
  watch: Pick<ModelWatch, "redact">,
): UpstreamError {
  // Google puts the errors of some routes in an array.
  const found = fieldsOf(Array.isArray(body) ? body[0] : body)
  const code = found.code === null ? null : safeWord(watch.redact(found.code))
  return {
    status,
    code,
    param: found.param === null ? null : cutText(watch.redact(found.param), 100),
    message: oneLine(found.message, watch),
    // Gateways blur the status of what is behind them; the type that they add is the truer one.
    retryable: isTransient((found.error_type === null ? null : statusOfWords(found.error_type)) ?? status),
    retryAfterMs: retryAfterMs ?? found.retryAfterMs,
  }
}

/** An error within a 200, or within a stream: its code is mapped to the status that it should have had. */
export function readInnerError(
  body: JsonObject,
  retryAfterMs: number | null,
  watch: Pick<ModelWatch, "redact">,
): UpstreamError {
  const status = statusOf(body)
  const read = readUpstreamError(status ?? 200, body, retryAfterMs, watch)
  return { ...read, status: status ?? 200, retryable: status === null ? true : isTransient(status) }
}

function isTransient(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500
}

interface Fields {
  readonly code: string | null
  readonly param: string | null
  readonly message: string
  readonly error_type: string | null
  /** Google says in the body how long to wait. */
  readonly retryAfterMs: number | null
}

/**
 * `{ error: { message, type, param, code } }`, Google's `{ error: { message, status, code, details } }`, `{ error: "…" }`, `{ message }`,
 * FastAPI's `{ detail: [{ loc, msg }] }`.
 */
function fieldsOf(body: JsonValue | undefined): Fields {
  if (!isJsonObject(body)) return { code: null, param: null, message: "", error_type: null, retryAfterMs: null }
  const { error, detail } = body
  const error_type = textOrNull(body["error_type"])
  const inner = isJsonObject(error) ? error : body
  if (Array.isArray(detail)) {
    const [first] = detail
    const loc = isJsonObject(first) && Array.isArray(first["loc"]) ? first["loc"].filter((part) => part !== "body") : []
    return {
      code: textOrNull(isJsonObject(first) ? first["type"] : undefined),
      param:
        loc.length === 0
          ? null
          : loc.map((part) => (typeof part === "string" ? part : `${JSON.stringify(part)}`)).join("."),
      message: detail.map((one) => (isJsonObject(one) ? asText(one["msg"]) : "")).join("; "),
      error_type,
      retryAfterMs: null,
    }
  }
  return {
    code: error_type ?? wordOf(inner["code"]) ?? wordOf(inner["status"]) ?? textOrNull(inner["code"] ?? inner["type"]),
    param: textOrNull(inner["param"]),
    message: typeof error === "string" ? error : asText(inner["message"]) || asText(detail),
    error_type,
    retryAfterMs: retryInfo(inner["details"]),
  }
}

/** A code in words; numbers repeat the status. */
function wordOf(value: JsonValue | undefined): string | null {
  return typeof value === "string" && !/^\d*$/.test(value) ? value : null
}

/** `{ "@type": "…RetryInfo", retryDelay: "13s" }` */
function retryInfo(details: JsonValue | undefined): number | null {
  if (!Array.isArray(details)) return null
  for (const one of details) {
    const delay = isJsonObject(one) ? /^(\d+(?:\.\d+)?)s$/.exec(asText(one["retryDelay"])) : null
    if (delay !== null) return Number(delay[1]) * 1000
  }
  return null
}

const statuses: readonly (readonly [RegExp, number])[] = [
  [/rate.?limit|too.?many.?requests|quota|insufficient_quota|resource.?exhausted/i, 429],
  [/overload|unavailable|capacity/i, 503],
  [/timeout|timed.?out/i, 504],
  [/auth|api.?key|permission|forbidden/i, 401],
  [/not.?found/i, 404],
  [/invalid|bad.?request|unsupported|context.?length|too.?long|content.?filter|policy|moderation/i, 400],
  [/server|internal|upstream|provider|bad.?gateway/i, 500],
]

function statusOf(body: JsonObject): number | null {
  const inner = isJsonObject(body["error"]) ? body["error"] : body
  for (const value of [inner["code"], inner["status"], inner["status_code"]]) {
    const number = typeof value === "string" ? Number(value) : value
    if (typeof number === "number" && Number.isInteger(number) && number >= 400 && number < 600) return number
  }
  const words = [body["error_type"], inner["code"], inner["status"], inner["type"]]
    .filter((word) => typeof word === "string")
    .join(" ")
  return statusOfWords(words)
}

function statusOfWords(words: string): number | null {
  return statuses.find(([pattern]) => pattern.test(words))?.[1] ?? null
}

/** Never more than a line of what a backend wrote, without secrets and without anything that looks like one. */
function oneLine(text: string, watch: Pick<ModelWatch, "redact">): string {
  const line = watch.redact(text).replace(/\s+/g, " ").trim()
  return cutText(line.replace(/\bBearer\s+\S+|\b(?:sk|pk|key|token)[-_][\w*.-]{6,}|[\w+/=*-]{32,}/gi, "[…]"), 200)
}

function safeWord(code: string): string | null {
  return /^[\w.:-]{1,60}$/.test(code) ? code : null
}

function textOrNull(value: JsonValue | undefined): string | null {
  if (typeof value === "number") return String(value)
  return typeof value === "string" && value !== "" ? value : null
}

function asText(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : ""
}
