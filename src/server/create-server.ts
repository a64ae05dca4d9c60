import type { Server as HttpServer } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import { fastify } from "fastify"
import * as api from "../api/operations.ts"
import { getWorkflow } from "../api/workflows.ts"
import type { DemoModel } from "../demo/handle-demo.ts"
import { answerDemo, demoRoute } from "../demo/handle-demo.ts"
import type { RunStore } from "../ports/store.ts"
import type { TroubleKind } from "../run/health.ts"
import { ThrottledLog } from "./throttled-log.ts"
import { loopTurns } from "../event-loop/loop-turns.ts"
import { MemoryShare, type MemoryBounds } from "../run/shares/memory-share.ts"
import type { Runs } from "../run/runs.ts"
import { answerError, asHttpError } from "./answer-error.ts"
import { ArrivingBodies } from "./arriving-bodies.ts"
import { boundConnections } from "./bound-connections.ts"
import { answerBrokenRequest, refuseOddities } from "./broken-request.ts"
import type { BrowserRules } from "./browser-rules.ts"
import { checkBrowser, corsHeaders, isAllowed, preflightHeaders } from "./browser-rules.ts"
import type { Caller, CallerKey } from "./callers.ts"
import { Callers, notForOperators, stranger } from "./callers.ts"
import { EventStreams } from "./event-stream.ts"
import { Groups, type Group } from "./groups.ts"
import { refuse, type HttpError } from "./http-error.ts"
import { LargeAnswers } from "./large-answers.ts"
import { OpenRequests } from "./open-requests.ts"
import { openApiText } from "./openapi.ts"
import { stepsInTurns } from "../event-loop/in-turns.ts"
import { schemaCompilers } from "./late-validation.ts"
import { networkOf } from "./network-of.ts"
import type { McpRoute, RouteDependencies, ServerLog } from "./route-dependencies.ts"
import type { Page } from "./playground-page.ts"
import { encodePage } from "./playground-page.ts"
import { RateLimit, type SharedSpending } from "./rate-limit.ts"
import { readBodies } from "./read-body.ts"
import { spreadPipelined } from "./pipelined-requests.ts"
import { RequestTurns } from "./request-turns.ts"
import { patternOf, serve } from "./serve-route.ts"
import { cacheRoutes } from "./routes/cache.ts"
import { executeRoute } from "./routes/execute.ts"
import { mcpRoutes } from "./routes/mcp.ts"
import { questionRoutes } from "./routes/questions.ts"
import { chatCompletionRoute } from "./protocols/openai/chat-completions.ts"
import { modelRoutes } from "./protocols/openai/models.ts"
import { responseRoutes } from "./protocols/openai/responses.ts"
import { hookRoutes } from "./routes/hooks.ts"
import { triggerRoutes } from "./routes/triggers.ts"
import { runListRoute } from "./routes/run-list.ts"
import { rerunRoute } from "./routes/rerun.ts"
import { runRoutes } from "./routes/runs.ts"
import { workflowRoutes } from "./routes/workflows.ts"
import { sourceRoutes } from "./routes/source.ts"
import { requestArrivalMs } from "../base/limits.ts"

export interface ServerOptions {
  readonly version: string
  readonly maxBody: number
  /** What bodies that are being received and answers that have not been read may take together. No bounds unless set. */
  readonly transit?: MemoryBounds
  readonly keys: readonly CallerKey[]
  /** Keys that see, cancel and delete runs of all callers, and start and answer none. */
  readonly operatorKeys?: readonly CallerKey[]
  /** Who answers questions to a group. */
  readonly groups?: readonly Group[]
  readonly browsers: BrowserRules
  /** Only this machine can reach it. */
  readonly loopback: boolean
  /** Requests per second and caller; 0 means no limit. */
  readonly rateLimit: number
  /** Where several processes count requests together. */
  readonly spending?: SharedSpending
  /** How many processes serve, of how many; only where there are several. */
  readonly processes?: () => { readonly up: number; readonly of: number }
  /** Null: switched off. */
  readonly demo: DemoModel | null
  /** The playground's file under a path, `""` being the page itself; null when it is switched off. */
  readonly playground: ((path: string) => Page | undefined) | null
  readonly runs: Runs
  readonly store: RunStore
  readonly planOf: RouteDependencies["planOf"]
  readonly compiler: RouteDependencies["compiler"]
  readonly folder: RouteDependencies["folder"]
  readonly serverSecrets: RouteDependencies["serverSecrets"]
  readonly triggers: RouteDependencies["triggers"]
  /** Null where no workflows are served by name. */
  readonly mcp: McpRoute | null
  readonly log: ServerLog
  readonly audit: RouteDependencies["audit"]
  readonly notify: RouteDependencies["notify"]
  readonly readsBaggage: boolean
  /** How long ended runs are kept. */
  readonly retentionMs: number
  readonly metrics: {
    /** The key that opens `/metrics` and nothing else; null without one. */
    readonly key: string | null
    /** Prometheus text. */
    text(): Promise<{ readonly type: string; readonly text: string }>
    readonly service: RequestMetrics
  }
  /** What keeps the service from its work right now. */
  readonly trouble: () => TroubleKind | null
  /** What the process lacks, so that anything may fail without being a bug, as a sentence for callers. */
  readonly shortage: () => string | null
  /** Connections at a time; as many as there are unless set. One caller may have requests on half of them. */
  readonly maxConnections?: number | undefined
  /** How long a request may take to arrive; a minute unless set. */
  readonly requestTimeoutMs?: number | undefined
}

/** Hears of requests that have been answered. */
export interface RequestMetrics {
  /** `workflow`: the name of the workflow of the folder that the request is about; null for all others. */
  answered(method: string, route: string | null, status: number, duration_ms: number, workflow: string | null): void
  refused(reason: string): void
}

export interface Server {
  readonly app: FastifyInstance
  /** Open event streams. */
  readonly streams: EventStreams
  /** Readiness goes off; requests are still answered. */
  readonly drain: () => void
  /** Once all runs have been left: ends the streams, and closes every connection when its answer is out. */
  readonly close: () => Promise<void>
}

/** The HTTP service, not yet listening. */
export function createServer(options: ServerOptions): Server {
  const requestTimeout = options.requestTimeoutMs ?? requestArrivalMs
  const logBug = (bug: unknown, route: string | undefined): void =>
    options.log.error({ err: bug, route }, "unexpected error")
  const explained = (error: unknown): unknown => {
    const shortage = asHttpError(error) === undefined ? options.shortage() : null
    return shortage === null ? error : refuse("overloaded", shortage)
  }
  const app = fastify({
    bodyLimit: options.maxBody,
    forceCloseConnections: true,
    requestTimeout,
    keepAliveTimeout: 75_000,
    exposeHeadRoutes: true,
    // While it closes, requests are answered by the routes, in their own shape.
    return503OnClosing: false,
    http: {
      connectionsCheckingInterval: Math.min(10_000, requestTimeout / 2),
      headersTimeout: requestTimeout,
      // Missed by `guard`, which can say so.
      requireHostHeader: false,
    },
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error, request, reply) => {
      void answerError(explained(error), reply, (bug) => logBug(bug, request.routeOptions.url))
    },
    routerOptions: { maxParamLength: 200 },
    rewriteUrl: ({ url = "/" }) => aliased(url),
    schemaController: { compilersFactory: schemaCompilers },
  })
  const streams = new EventStreams()
  const groups = new Groups(options.groups ?? [], options.keys.length > 0)
  const transit = new MemoryShare(options.transit)
  const answers = new LargeAnswers(transit)
  const parts: RouteDependencies = { ...options, streams, groups, answers }
  let draining = false

  readBodies(app, new ArrivingBodies(transit))
  answers.countIn(app)
  app.setErrorHandler((found, request, reply) => {
    const error = explained(found)
    options.metrics.service.refused(asHttpError(error)?.error.kind ?? "internal_error")
    return answerError(error, reply, (bug) => logBug(bug, request.routeOptions.url))
  })
  spreadPipelined(app.server)
  refuseOddities(app.server)
  if (options.maxConnections !== undefined) boundConnections(app.server, options.maxConnections)
  app.server.on("connection", () => loopTurns.accepted())
  countRequests(app, options.metrics.service, options.folder)
  const limit = new RateLimit(options.rateLimit, options.spending)
  guard(app, options, limit)
  elsewhere(app)
  operations(app, options, () => draining)
  guideRoute(app)
  executeRoute(app, parts)
  rerunRoute(app, parts)
  runRoutes(app, parts)
  sourceRoutes(app, parts)
  cacheRoutes(app, parts)
  workflowRoutes(app, parts)
  modelRoutes(app, parts)
  chatCompletionRoute(app, parts)
  responseRoutes(app, parts)
  if (options.mcp !== null) {
    const bug = (error: unknown): void => logBug(error, api.mcp.path)
    mcpRoutes(app, { route: options.mcp, transit, answers, explained, bug })
  }
  triggerRoutes(app, parts, options.keys.length === 0 && !options.loopback)
  hookRoutes(app, parts, limit, options.maxBody)
  runListRoute(app, parts, options.keys.length === 0 && !options.loopback)
  questionRoutes(app, parts, options.keys.length === 0 && !options.loopback)
  if (options.demo !== null) demoRoutes(app, options.demo)
  if (options.playground !== null) playgroundRoutes(app, options.playground)
  return {
    app,
    streams,
    drain() {
      draining = true
    },
    async close() {
      streams.close()
      await answersSent(app.server)
      await app.close()
    },
  }
}

/** `/runs/{run_id}`, its events and its cancellation are those of `/execute/{run_id}`: the list of runs and each of them share a path. */
function aliased(url: string): string {
  return /^\/runs\/[^/?]+(?:\/(?:events|cancel))?(?:\?|$)/.test(url) ? `/execute${url.slice("/runs".length)}` : url
}

/** How long clients may take to read the last answers of a service that stops. */
const lastAnswersMs = 1_000

async function answersSent(server: HttpServer): Promise<void> {
  const open = promisify(server.getConnections.bind(server))
  const deadline = performance.now() + lastAnswersMs
  for (
    server.closeIdleConnections();
    (await open()) > 0 && performance.now() < deadline;
    server.closeIdleConnections()
  ) {
    await sleep(10)
  }
}

/** The workflow that a request to OpenAI's APIs names. */
function modelOf(body: unknown): unknown {
  return typeof body === "object" && body !== null && "model" in body ? body.model : null
}

/** Streams too: their requests are answered when the stream ends. */
function countRequests(app: FastifyInstance, metrics: RequestMetrics, folder: ServerOptions["folder"]): void {
  app.addHook("onResponse", (request, reply, done) => {
    const { url } = request.routeOptions
    const name = url === ofWorkflow ? (request.params as { "*": string })["*"] : modelOf(request.body)
    const known = typeof name === "string" ? name.replace(/\/(?:execute|ag-ui)$/, "") : null
    // Only names that exist: what callers write would be as many labels as they like.
    const workflow = known === null || folder?.get(known) === undefined ? null : known
    metrics.answered(request.method, url ?? null, reply.raw.statusCode, reply.elapsedTime, workflow)
    done()
  })
}

/** Keys that are refused are logged this often, however many are tried. */
const refusalsEveryMs = 60_000

const ofWorkflow = patternOf(getWorkflow.path)

const unguarded = new Set(["/healthz", "/readyz"])

function isPlayground(path: string): boolean {
  return path === "/" || path === "/playground" || path.startsWith("/playground/")
}

function isHook(path: string): boolean {
  return path.startsWith("/hooks/")
}

function pathOf(request: FastifyRequest): string {
  return withoutQuery(request.url)
}

function withoutQuery(url: string): string {
  const end = url.indexOf("?")
  return end < 0 ? url : url.slice(0, end)
}

/** Checks who calls, from where and how often, before any body is read; then callers take turns. */
function guard(app: FastifyInstance, options: ServerOptions, limit: RateLimit): void {
  const turns = new RequestTurns()
  const callers = new Callers(options.keys, options.operatorKeys)
  const metricsKey = new Callers(options.metrics.key === null ? [] : [{ name: "metrics", key: options.metrics.key }])
  const open = new OpenRequests(callers.several ? (options.maxConnections ?? Infinity) / 2 : Infinity)
  const { browsers } = options
  // Without a valid key, requests are counted by address: for the playground's files, and for keys that are guessed.
  const refusals = new ThrottledLog<{ readonly address: string; readonly path: string }>(
    refusalsEveryMs,
    (about, times) => options.log.warn({ ...about, times }, "key refused"),
  )
  app.addHook("onClose", (_, done) => {
    refusals.close()
    done()
  })
  const takeByAddress = ({ ip }: FastifyRequest): void => limit.take(`address:${networkOf(ip)}`, performance.now())
  const admitCaller = (request: FastifyRequest, page: boolean): Caller => {
    const { authorization } = request.headers
    if (page) {
      takeByAddress(request)
      return stranger
    }
    if (metricsKey.required && pathOf(request) === "/metrics" && metricsKey.knows(authorization)) {
      takeByAddress(request)
      return metricsKey.find(authorization)
    }
    let caller: Caller
    try {
      caller = callers.find(authorization)
      // Where only the metrics have a key, nobody else may read them, except operators.
      if (caller === stranger && metricsKey.required && pathOf(request) === "/metrics") metricsKey.find(authorization)
    } catch (error) {
      if (authorization !== undefined) refusals.happened({ address: request.ip, path: pathOf(request).slice(0, 200) })
      takeByAddress(request)
      throw error
    }
    if (caller === stranger) takeByAddress(request)
    else limit.take(`${caller.operator ? "operator" : "key"}:${caller.name}`, performance.now())
    return caller
  }
  app.decorateRequest("caller", null)
  app.decorateRequest("isOperator", false)
  app.addHook("onRequest", (request, reply, done) => {
    try {
      const path = pathOf(request)
      const page = isPlayground(path)
      if (request.headers.host === undefined && request.raw.httpVersion === "1.1") {
        throw refuse("invalid_request", "The Host header is missing")
      }
      if (hasTwoHosts(request.raw.rawHeaders)) throw refuse("invalid_request", "There are two Host headers")
      void reply.header("x-content-type-options", "nosniff")
      if (browsers.allowedOrigins.length > 0) void reply.headers(corsHeaders(request.headers.origin, browsers))
      const hook = isHook(path)
      if (!callers.required && !hook) {
        const navigation = page && request.method === "GET" && request.headers["sec-fetch-mode"] === "navigate"
        checkBrowser(request.headers, browsers, navigation)
      }
      if (request.method === "OPTIONS" && isPreflight(request, browsers)) {
        void reply.code(204).headers(preflightHeaders).send()
        return
      }
      if (unguarded.has(path)) {
        request.caller = ""
        done()
        return
      }
      // The signature of a delivery is its key.
      const { name, operator } = admitCaller(request, page || hook)
      if (operator && !request.is404 && request.routeOptions.config.operators !== true) throw notForOperators()
      request.caller = name
      request.isOperator = operator
      open.take(name, reply.raw)
      turns.take(name, done)
    } catch (error) {
      turns.take(networkOf(request.ip), () => done(error as Error))
    }
  })
}

function isPreflight(request: FastifyRequest, rules: BrowserRules): boolean {
  const { origin } = request.headers
  return (
    origin !== undefined && request.headers["access-control-request-method"] !== undefined && isAllowed(origin, rules)
  )
}

function operations(app: FastifyInstance, options: ServerOptions, isDraining: () => boolean): void {
  const { processes } = options
  serve(app, api.health, () => ({ status: "ok", ...(processes !== undefined && { processes: processes() }) }))
  // Anyone may ask, and a store that has failed is written to for each answer: those that ask at the same time share one.
  let asked: Promise<Readiness> | null = null
  serve(app, api.ready, async (_request, reply) => {
    asked ??= readiness(options).finally(() => (asked = null))
    const status = isDraining() ? "draining" : await asked
    if (status !== "ready") void reply.code(503).header("retry-after", "5")
    return { status }
  })
  serve(app, api.metrics, async (_request, reply) => {
    const { type, text } = await options.metrics.text()
    return reply.type(type).send(text)
  })
  // Bytes, which all answers share: with many workflows they are megabytes, and readers may be slow.
  let document: Promise<Buffer> | null = null
  options.folder?.onChange(() => (document = null))
  serve(app, api.openapi, async (_request, reply) => {
    await options.folder?.ready
    document ??= openApiDocument(options)
    return reply.type("application/json; charset=utf-8").send(await document)
  })
}

/** Loaded by the first who asks: most services never tell it. */
function guideRoute(app: FastifyInstance): void {
  serve(app, api.llms, async (_request, reply) => {
    const { languageGuide } = await import("../editor/guide/language-guide.ts")
    return reply.type("text/plain; charset=utf-8").send(languageGuide())
  })
}

async function openApiDocument({ version, keys, folder }: ServerOptions): Promise<Buffer> {
  const pieces: Buffer[] = []
  const text = openApiText(version, keys.length > 0, folder?.list() ?? [])
  await stepsInTurns(text, (piece) => pieces.push(Buffer.from(piece)))
  return Buffer.concat(pieces)
}

type Readiness = "ready" | "store unreachable" | "out of file descriptors"

async function readiness({ store, trouble }: ServerOptions): Promise<Readiness> {
  const before = trouble()
  if (before !== null) return before === "store" ? "store unreachable" : "out of file descriptors"
  try {
    await store.probe()
    return "ready"
  } catch {
    return "store unreachable"
  }
}

function demoRoutes(app: FastifyInstance, demo: DemoModel): void {
  for (const { path } of api.demoRoutes) {
    app.post(patternOf(path), { config: { errors: "openai" } }, async (request, reply) => {
      const route = demoRoute(request.url)
      if (route === null) throw refuse("not_found", "The demo model has no such address")
      reply.hijack()
      await answerDemo(demo, route, request, reply.raw)
      return reply
    })
  }
}

function playgroundRoutes(app: FastifyInstance, files: (path: string) => Page | undefined): void {
  const send = (request: FastifyRequest, reply: FastifyReply, path: string): FastifyReply => {
    const page = files(path)
    if (page === undefined) throw refuse("not_found", "The playground has no such file")
    const { headers, body } = encodePage(page, request.headers["accept-encoding"])
    return reply.headers(headers).send(body)
  }
  app.get("/", (_request, reply) => reply.redirect("/playground", 302))
  serve(app, api.playground, (request, reply) => send(request, reply, ""))
  app.get<{ Params: { "*": string } }>("/playground/*", (request, reply) => {
    const path = request.params["*"]
    return path === "" ? reply.redirect("/playground", 302) : send(request, reply, path)
  })
}

/** For a path that exists under another method, the answer names the methods that it takes. */
function elsewhere(app: FastifyInstance): void {
  const known: { readonly method: string; readonly pattern: string }[] = []
  app.addHook("onRoute", ({ method, url }) => {
    for (const one of [method].flat()) known.push({ method: one, pattern: url })
  })
  const nothingThere = (request: FastifyRequest): HttpError => {
    const path = pathOf(request)
    // Of an alias, the path as it was sent.
    const sent = withoutQuery(request.originalUrl).slice(0, 200)
    const methods = known.filter(({ pattern }) => fitsPattern(path, pattern)).map(({ method }) => method)
    if (methods.length === 0) return refuse("not_found", `There is no route ${request.method} ${sent}`)
    const allow = [...new Set(methods)].join(", ")
    return refuse("method_not_allowed", `${sent} takes ${allow}`, [], { allow })
  }
  app.setNotFoundHandler((request) => {
    throw nothingThere(request)
  })
  // Before the body is looked at: of a path that is not there, its type says nothing.
  app.addHook("onRequest", (request, _reply, done) => done(request.is404 ? nothingThere(request) : undefined))
}

/** `/execute/1` fits `/execute/:run_id`, and everything below `/workflows/` fits `/workflows/*`. */
function fitsPattern(path: string, pattern: string): boolean {
  const parts = path.split("/")
  const wanted = pattern.split("/")
  if (wanted.at(-1) === "*" ? parts.length < wanted.length : parts.length !== wanted.length) return false
  return wanted.every((part, at) => part === "*" || part === parts[at] || (part.startsWith(":") && parts[at] !== ""))
}

/** Others on the way may have gone by the other one. */
function hasTwoHosts(headers: readonly string[]): boolean {
  let found = 0
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at]?.length === 4 && headers[at]?.toLowerCase() === "host") found++
  }
  return found > 1
}
