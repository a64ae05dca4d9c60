import { createHash } from "node:crypto"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { apiAnswerBytes } from "../../base/limits.ts"
import type { RandomSource } from "../../ports/random-source.ts"
import type { Clock } from "../../ports/clock.ts"
import { acceptedEncodings, EgressFailure, type Arrival, type Egress } from "../../ports/egress.ts"
import { RunFailure, failure, wireError } from "../../ports/run-failure.ts"
import type {
  ApiServer,
  HostedTool,
  HostRequest,
  HostSession,
  HostWatch,
  ImportedHttp,
  ToolAnswer,
  ToolHost,
} from "../../ports/tools.ts"
import { holdsFile } from "../../types/holds-file.ts"
import type { Type, TypeTable } from "../../types/types.ts"
import { parseJson, whyUnread } from "../../run/values/parse-json.ts"
import { turnToParse } from "../model-turn/turn-for.ts"
import { readRetryAfter, retryDelay } from "../model-turn/retry-delay.ts"
import type { Tokens } from "../oauth/tokens.ts"
import { withToken } from "../oauth/with-token.ts"
import { buildRequest, type HttpRequest } from "./build-request.ts"
import { bodyOfFiles } from "./file-body.ts"
import { httpTool, mayRepeat } from "./http-tool.ts"
import { readBody, type Body } from "./read-body.ts"

export interface HttpHostOptions {
  readonly egress: Egress
  /** What `endpoint: "demo"` means, and an egress that reaches it and nothing else; null where it is switched off. */
  readonly demo?: { readonly endpoint: string; readonly egress: Egress } | null
  readonly clock: Clock
  readonly random: RandomSource
  readonly tokens: Tokens
  /** Egress for one run's calls, which adds the headers of its trace. */
  readonly traced?: (egress: Egress, run_id: string) => Egress
}

/** Tools that are requests to HTTP APIs. Nothing is asked before a tool is called. */
export class HttpHost implements ToolHost {
  readonly #options: HttpHostOptions

  constructor(options: HttpHostOptions) {
    this.#options = options
  }

  async open(request: HostRequest, watch: HostWatch): Promise<HostSession> {
    return new HttpSession(request, watch, this.#options)
  }
}

interface OpenTool {
  readonly http: ImportedHttp
  readonly api: ApiServer
  readonly hosted: HostedTool
  /** Its output has a file: an answer that is not JSON is one. */
  readonly givesFile: boolean
  /** The arguments that are files, or lists of them. */
  readonly files: ReadonlySet<string>
}

/** Answers that may be different when the request is sent again. */
const passing = new Set([408, 429, 502, 503, 504])
const redirects = new Set([301, 302, 303, 307, 308])
const maxRedirects = 3
const baseDelayMs = 500
/** What an error shows is far less; a secret in it may be long. */
const errorBytes = 65_536
/** What a connection may have received that was not read yet. */
const aheadBytes = 1_048_576

class HttpSession implements HostSession {
  readonly problems = []
  readonly tools: ReadonlyMap<string, HostedTool>
  readonly resources = new Map<string, never>()
  readonly prompts = new Map<string, never>()
  readonly #open = new Map<string, OpenTool>()
  readonly #runId: string
  readonly #owner: HostRequest["owner"]
  readonly #watch: HostWatch
  readonly #options: HttpHostOptions

  constructor({ run_id, owner, apis, tools, types }: HostRequest, watch: HostWatch, options: HttpHostOptions) {
    this.#runId = run_id
    this.#owner = owner
    this.#watch = watch
    this.#options = options
    const byName = new Map(apis.map((api) => [api.name, api]))
    for (const tool of tools) {
      const api = byName.get(tool.server)
      if (tool.http === undefined || api === undefined) continue
      const givesFile = tool.output !== null && holdsFile(tool.output, types)
      this.#open.set(tool.name, {
        http: tool.http,
        api,
        hosted: httpTool(tool, tool.http, types),
        givesFile,
        files: fileFields(tool.input, types),
      })
    }
    this.tools = new Map([...this.#open].map(([name, { hosted }]) => [name, hosted]))
  }

  /** Only the workflow says what the tool is. */
  published(tool: string): Promise<JsonObject | null> {
    return Promise.resolve(this.tools.get(tool)?.definition ?? null)
  }

  async call(tool: string, values: JsonObject, call_id: string, signal: AbortSignal): Promise<ToolAnswer> {
    const open = this.#open.get(tool)
    if (open === undefined) throw new Error(`Tool ${tool} is not imported`)
    const { http, api } = open
    const { endpoint, egress } = this.#reach(api)
    const built = buildRequest(http, endpoint, values, open.files)
    if ("problem" in built) return { text: built.problem, is_error: true }
    const request = withBody(built, open.files)
    const origin = URL.parse(endpoint)?.origin
    if (origin === undefined) return { text: `The endpoint of api.${api.name} is not a URL`, is_error: true }
    if (URL.parse(request.url)?.origin !== origin) {
      return { text: "The path leads to another origin than the endpoint", is_error: true }
    }
    const headers = this.#headers(http, api, request, call_id)
    this.#report({ ...request, headers }, open, values, call_id)
    const { clock, random } = this.#options
    const most = mayRepeat(http) ? api.max_retries : 0
    for (let retry = 0; ; retry++) {
      let retryAfterMs: number | null = null
      const arrival = this.#watch.arrivals?.open(signal)
      try {
        const response = await this.#attempt(egress, http, { ...request, headers }, api.timeoutMs, signal, arrival)
        if (retry >= most || !passing.has(response.status)) return await answerOf(open, request.url, response, arrival)
        retryAfterMs = readRetryAfter(response.headers, clock.now())
      } catch (error) {
        const isBroken = error instanceof EgressFailure && isPassing(error)
        if (signal.aborted || retry >= most || !isBroken) throw explain(error, api)
      } finally {
        arrival?.close()
      }
      await clock.sleep(retryDelay(retry, baseDelayMs, retryAfterMs, random.fraction()), signal)
    }
  }

  /** Retries send the same. */
  #report(request: WholeRequest, { http, api, files }: OpenTool, values: JsonObject, call_id: string): void {
    const { requests } = this.#watch
    if (requests === undefined) return
    const named = requests.shownArguments(call_id)
    const rebuilt =
      named === undefined && api.shownEndpoint === undefined
        ? undefined
        : buildRequest(http, api.shownEndpoint ?? this.#reach(api).endpoint, named ?? values, files)
    const shown = rebuilt === undefined || "problem" in rebuilt ? rebuilt : withBody(rebuilt, files)
    const headers = { ...request.headers, ...(api.auth !== undefined && { authorization: "Bearer $KEY" }) }
    const sent = { url: request.url, method: http.method, headers, body: shownBody(request) }
    if (shown === undefined) requests.sent(call_id, sent)
    else if (!("problem" in shown)) requests.sent(call_id, sent, { url: shown.url, body: shownBody(shown) })
  }

  read(): Promise<never> {
    throw new Error("An api has no resources")
  }

  render(): Promise<never> {
    throw new Error("An api has no prompts")
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  #reach({ name, endpoint, auth }: ApiServer): { readonly endpoint: string; readonly egress: Egress } {
    const { egress, demo = null, traced } = this.#options
    if (endpoint !== "demo") {
      const own = traced?.(egress, this.#runId) ?? egress
      const origin = URL.parse(endpoint)?.origin
      if (auth === undefined || origin === undefined) return { endpoint, egress: own }
      const use = { auth, origin, path: `api.${name}`, owner: this.#owner, hide: this.#watch.hide }
      return { endpoint, egress: withToken(own, this.#options.tokens, use) }
    }
    if (demo === null) throw failure("tool_error", `api.${name}`, "The demo is switched off (WIRE_DEMO).")
    return demo
  }

  #headers(http: ImportedHttp, api: ApiServer, request: WholeRequest, call_id: string): Record<string, string> {
    const needsKey = http.idempotent && (http.method === "POST" || http.method === "PATCH")
    const key = createHash("sha256").update(`${this.#runId}\n${call_id}`).digest("hex")
    return {
      ...lowerCased({
        accept: "application/json, */*;q=0.5",
        ...(request.contentType === null ? {} : { "content-type": request.contentType }),
        ...api.headers,
        ...request.headers,
      }),
      "accept-encoding": [...acceptedEncodings].join(", "),
      ...(needsKey ? { "idempotency-key": key } : {}),
    }
  }

  /** One attempt, with the redirects that it follows and the whole of the body, in its own time. */
  async #attempt(
    egress: Egress,
    { method, status: asStatus }: ImportedHttp,
    request: WholeRequest,
    timeoutMs: number,
    signal: AbortSignal,
    arrival: Arrival | undefined,
  ): Promise<Answered> {
    const { clock } = this.#options
    // Without the time that the call waits for this service.
    const now = (): number => clock.monotonic() - (arrival?.waited.ms ?? 0)
    const until = now() + timeoutMs
    let { url } = request
    for (let hops = 0; ; hops++) {
      const left = Math.max(1, Math.ceil(until - now()))
      const response = await egress.request({
        url,
        method,
        headers: request.headers,
        body: request.body,
        signal,
        gate: this.#watch.gate,
        arrival,
        limits: { firstByteMs: 0, silenceMs: 0, totalMs: left, max_bytes: apiAnswerBytes + aheadBytes },
        redirect: "manual",
      })
      const next = method === "GET" ? withinOrigin(response.status, response.headers["location"], url) : null
      if (next !== null && hops < maxRedirects) {
        response.discard()
        url = next
        continue
      }
      const isCut = isError(response.status) && !asStatus
      const body = isCut
        ? readBody(response, errorBytes, "cut", arrival)
        : readBody(response, apiAnswerBytes, "refuse", arrival)
      return { status: response.status, headers: response.headers, body: await body }
    }
  }
}

interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Body
}

/** The connection broke, or never stood. */
function isPassing({ reason }: EgressFailure): boolean {
  return reason === "connection" || reason === "connect_timeout" || reason === "descriptors"
}

function isError(status: number): boolean {
  return status < 200 || status > 299
}

/** Where a redirect leads; null for one that leaves the origin. */
function withinOrigin(status: number, location: string | undefined, from: string): string | null {
  if (location === undefined || !redirects.has(status)) return null
  const next = URL.parse(location, from)
  if (next === null || next.origin !== URL.parse(from)?.origin || next.username !== "" || next.password !== "")
    return null
  next.hash = ""
  return next.href
}

/** Lower-cases the names; of two headers that differ in capitals alone, the later wins. */
function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/** A request with the bytes of its body. */
interface WholeRequest extends Pick<HttpRequest, "url" | "headers"> {
  readonly body: string | Uint8Array | null
  readonly contentType: string | null
}

function withBody({ url, headers, body, contents }: HttpRequest, files: ReadonlySet<string>): WholeRequest {
  if (contents !== undefined) return { url, headers, ...bodyOfFiles(contents, files) }
  return { url, headers, body, contentType: body === null ? null : "application/json" }
}

function fileFields(input: Type | null, types: TypeTable): ReadonlySet<string> {
  const fields = input?.kind === "record" ? input.fields : []
  return new Set(fields.filter(({ type }) => holdsFile(type, types)).map(({ name }) => name))
}

function shownBody({ body }: WholeRequest): string {
  return typeof body === "string" ? body : body === null ? "" : Buffer.from(body).toString("utf8")
}

async function answerOf(
  { http: { method, status: asStatus }, givesFile }: OpenTool,
  url: string,
  answered: Answered,
  arrival: Arrival | undefined,
): Promise<ToolAnswer> {
  const { status, headers, body } = answered
  const http = { method, status }
  const problem = (text: string, advice = ""): ToolAnswer => ({
    text,
    is_error: true,
    http,
    ...(advice !== "" && { advice }),
  })
  if ("problem" in body) return problem(body.problem)
  const { bytes } = body
  await turnToParse(bytes.length, arrival)
  const type = headers["content-type"] ?? ""
  if (asStatus) {
    const text = decode(bytes, type, false) ?? ""
    const value = bytes.length === 0 ? null : isJsonType(type) ? (parseJson(text) ?? text) : text
    const { "set-cookie": _, ...shown } = headers
    return { structured: { status, headers: shown, body: value }, text: "", is_error: false, http, isLowerCase: true }
  }
  if (isError(status)) return problem(decode(bytes, type, false) ?? "", adviceFor(status, headers))
  if (givesFile && bytes.length > 0 && !isJsonType(type)) {
    const [media_type = ""] = type.split(";", 1)
    const media = /^[\w.+-]+\/[\w.+-]+$/.test(media_type.trim()) ? media_type.trim() : "application/octet-stream"
    // Its name is the last part of the path: what stands behind that may be secret.
    const uri = `file://${URL.parse(url)?.pathname ?? "/"}`
    const file = {
      type: "file",
      media_type: media,
      url: `data:${media};base64,${bytes.toString("base64")}`,
      uri,
    } as const
    return { text: "", parts: [file], is_error: false, http }
  }
  let value: JsonValue | undefined = null
  if (bytes.length > 0) {
    const text = decode(bytes, type, true)
    if (text === null) return problem(`The answer is not text (${type === "" ? "no content type" : type})`)
    value = isJsonType(type) ? parseJson(text) : text
    if (value === undefined) return problem(`The answer says that it is JSON, and ${whyUnread(text).problem}`)
  }
  return { structured: value, text: "", is_error: false, http }
}

/** What the author should know of an answer that most APIs send without a body. */
function adviceFor(status: number, headers: Answered["headers"]): string {
  if (redirects.has(status))
    return "The redirect is not followed: only a GET follows redirects, within its origin, at most 3"
  const asksForUser = status === 401 && /\bresource_metadata\s*=/i.test(headers["www-authenticate"] ?? "")
  return asksForUser ? "Signing in as a user in a browser is not supported: use `auth { }`, or a header" : ""
}

function isJsonType(type: string): boolean {
  return /^\s*(?:[\w.-]+\/(?:[\w.-]+\+)?json)\s*(?:;|$)/i.test(type)
}

/** Null for what is not text. */
function decode(bytes: Buffer, type: string, fatal: boolean): string | null {
  const [, charset = "utf-8"] = /;\s*charset\s*=\s*"?([\w.:-]+)"?/i.exec(type) ?? []
  try {
    return decoderOf(charset, fatal).decode(bytes)
  } catch {
    return null
  }
}

function decoderOf(charset: string, fatal: boolean) {
  try {
    return new TextDecoder(charset, { fatal })
  } catch {
    return new TextDecoder("utf-8", { fatal })
  }
}

/** What kept a call from being answered, as a failure of the run that names the api. Bugs are thrown on. */
function explain(error: unknown, { name }: ApiServer): unknown {
  const path = `api.${name}`
  if (error instanceof RunFailure) {
    const issues = error.error.issues.map((issue) =>
      issue.path === "" ? { ...issue, path: `${path}.endpoint` } : issue,
    )
    return new RunFailure({ ...error.error, issues })
  }
  if (!(error instanceof EgressFailure)) return error
  const kind = error.timeout ? "timeout" : error.isOverload ? "overloaded" : "tool_error"
  return new RunFailure(wireError(kind, [{ path, message: `${path}: ${error.message}` }]))
}
