import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import { fastify } from "fastify"
import * as api from "../api/operations.ts"
import { demoRoute } from "../demo/apis/route.ts"
import type { DemoModel } from "../demo/handle-demo.ts"
import { answerDemo } from "../demo/handle-demo.ts"
import type { RunStore } from "../ports/store.ts"
import type { TroubleKind } from "../run/health.ts"
import { loopTurns } from "../event-loop/loop-turns.ts"
import { MemoryShare, type MemoryBounds } from "../run/memory-share.ts"
import type { Runs } from "../run/runs.ts"
import { answerError, asHttpError } from "./answer-error.ts"
import { ArrivingBodies } from "./arriving-bodies.ts"
import { boundConnections } from "./bound-connections.ts"
import { answerBrokenRequest, refuseOddities } from "./broken-request.ts"
import type { BrowserRules } from "./browser-rules.ts"
import { checkBrowser, corsHeaders, isAllowed, preflightHeaders } from "./browser-rules.ts"
import type { CallerKey } from "./callers.ts"
import { Callers } from "./callers.ts"
import { EventStreams } from "./event-stream.ts"
import { Groups, type Group } from "./groups.ts"
import { refuse } from "./http-error.ts"
import { LargeAnswers } from "./large-answers.ts"
import { OpenRequests } from "./open-requests.ts"
import { openApiText } from "./openapi.ts"
import { stepsInTurns } from "../event-loop/in-turns.ts"
import { schemaCompilers } from "./late-validation.ts"
import { networkOf } from "./network-of.ts"
import type { McpRoute, RouteDependencies, ServerLog } from "./route-dependencies.ts"
import type { Page } from "./page.ts"
import { encodePage } from "./page.ts"
import { RateLimit } from "./rate-limit.ts"
import { readBodies } from "./read-body.ts"
import { RequestTurns } from "./request-turns.ts"
import { patternOf, serve } from "./serve-route.ts"
import { cacheRoutes } from "./routes/cache.ts"
import { executeRoute } from "./routes/execute.ts"
import { mcpRoutes } from "./routes/mcp.ts"
import { questionRoutes } from "./routes/questions.ts"
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
  /** Who answers questions to a group. */
  readonly groups?: readonly Group[]
  readonly browsers: BrowserRules
  /** Only this machine can reach it. */
  readonly loopback: boolean
  /** Requests per second and caller; 0 means no limit. */
  readonly rateLimit: number
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
  /** Null where no workflows are served by name. */
  readonly mcp: McpRoute | null
  readonly log: ServerLog
  readonly notify: RouteDependencies["notify"]
  readonly readsBaggage: boolean
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
  answered(method: string, route: string | null, status: number, duration_ms: number): void
  refused(reason: string): void
}

export interface Server {
  readonly app: FastifyInstance
  /** Open event streams. */
  readonly streams: EventStreams
  /** Readiness goes off; requests are still answered. */
  readonly drain: () => void
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
  refuseOddities(app.server)
  if (options.maxConnections !== undefined) boundConnections(app.server, options.maxConnections)
  app.server.on("connection", () => loopTurns.accepted())
  countRequests(app, options.metrics.service)
  guard(app, options)
  elsewhere(app)
  operations(app, options, () => draining)
  executeRoute(app, parts)
  rerunRoute(app, parts)
  runRoutes(app, parts)
  sourceRoutes(app, parts)
  cacheRoutes(app, parts)
  workflowRoutes(app, parts)
  if (options.mcp !== null) mcpRoutes(app, options.mcp, transit, options.log)
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
  }
}

/** Streams too: their requests are answered when the stream ends. */
function countRequests(app: FastifyInstance, metrics: RequestMetrics): void {
  app.addHook("onResponse", (request, reply, done) => {
    const { url } = request.routeOptions
    metrics.answered(request.method, url ?? null, reply.raw.statusCode, reply.elapsedTime)
    done()
  })
}

const unguarded = new Set(["/healthz", "/readyz"])

function isPlayground(path: string): boolean {
  return path === "/" || path === "/playground" || path.startsWith("/playground/")
}

function pathOf(request: FastifyRequest): string {
  const end = request.url.indexOf("?")
  return end < 0 ? request.url : request.url.slice(0, end)
}

/** Checks who calls, from where and how often, before any body is read; then callers take turns. */
function guard(app: FastifyInstance, options: ServerOptions): void {
  const turns = new RequestTurns()
  const callers = new Callers(options.keys)
  const metricsKey = new Callers(options.metrics.key === null ? [] : [{ name: "metrics", key: options.metrics.key }])
  const limit = new RateLimit(options.rateLimit)
  const open = new OpenRequests(callers.several ? (options.maxConnections ?? Infinity) / 2 : Infinity)
  const { browsers } = options
  // Without a valid key, requests are counted by address: for the playground's files, and for keys that are guessed.
  const takeByAddress = ({ ip }: FastifyRequest): void => limit.take(`address:${networkOf(ip)}`, performance.now())
  const admitCaller = (request: FastifyRequest, page: boolean): string => {
    const forMetrics = metricsKey.required && pathOf(request) === "/metrics"
    if (page || (!callers.required && !forMetrics)) {
      takeByAddress(request)
      return ""
    }
    if (forMetrics && (!callers.required || metricsKey.knows(request.headers.authorization))) {
      takeByAddress(request)
      return metricsKey.name(request.headers.authorization)
    }
    let name: string
    try {
      name = callers.name(request.headers.authorization)
    } catch (error) {
      takeByAddress(request)
      throw error
    }
    limit.take(`key:${name}`, performance.now())
    return name
  }
  app.decorateRequest("caller", null)
  app.addHook("onRequest", (request, reply, done) => {
    try {
      const path = pathOf(request)
      const page = isPlayground(path)
      if (request.headers.host === undefined && request.raw.httpVersion === "1.1") {
        throw refuse("invalid_request", "The Host header is missing")
      }
      void reply.header("x-content-type-options", "nosniff")
      if (browsers.allowedOrigins.length > 0) void reply.headers(corsHeaders(request.headers.origin, browsers))
      if (!callers.required) {
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
      const caller = admitCaller(request, page)
      request.caller = caller
      open.take(caller, reply.raw)
      turns.take(caller, done)
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
  serve(app, api.health, () => ({ status: "ok" }))
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
  app.setNotFoundHandler((request) => {
    const path = pathOf(request)
    const methods = known.filter(({ pattern }) => fitsPattern(path, pattern)).map(({ method }) => method)
    if (methods.length === 0) throw refuse("not_found", `There is no route ${request.method} ${path.slice(0, 200)}`)
    const allow = [...new Set(methods)].join(", ")
    throw refuse("method_not_allowed", `${path.slice(0, 200)} takes ${allow}`, [], { allow })
  })
}

/** `/execute/1` fits `/execute/:run_id`, and everything below `/workflows/` fits `/workflows/*`. */
function fitsPattern(path: string, pattern: string): boolean {
  const parts = path.split("/")
  const wanted = pattern.split("/")
  if (wanted.at(-1) === "*" ? parts.length < wanted.length : parts.length !== wanted.length) return false
  return wanted.every((part, at) => part === "*" || part === parts[at] || (part.startsWith(":") && parts[at] !== ""))
}
