import type { IncomingMessage, Server as HttpServer } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { fastify, type FastifyInstance } from "fastify"
import { hookBytes, requestArrivalMs } from "../base/limits.ts"
import { loopTurns } from "../event-loop/loop-turns.ts"
import { MemoryShare, type MemoryBounds } from "../run/shares/memory-share.ts"
import { answerError, asHttpError } from "./answer-error.ts"
import { ArrivingBodies } from "./arriving-bodies.ts"
import { boundConnections } from "./bound-connections.ts"
import { answerBrokenRequest, refuseOddities } from "./broken-request.ts"
import { countRequests } from "./count-requests.ts"
import { EventStreams } from "./event-stream.ts"
import { Groups } from "./groups.ts"
import { guard } from "./guard.ts"
import { refuse } from "./http-error.ts"
import { LargeAnswers } from "./large-answers.ts"
import { schemaCompilers } from "./late-validation.ts"
import { answerNoRoute } from "./no-route.ts"
import { spreadPipelined } from "./pipelined-requests.ts"
import { RateLimit } from "./rate-limit.ts"
import { readBodies } from "./read-body.ts"
import type { RouteDependencies } from "./route-dependencies.ts"
import { allRoutes } from "./routes/all-routes.ts"
import { RunActions } from "./run-actions.ts"
import type { ServerOptions } from "./server-options.ts"
import { watchArrivals } from "./watch-arrivals.ts"

export interface Server {
  readonly app: FastifyInstance
  /** Open event streams. */
  readonly streams: EventStreams
  readonly actions: Pick<RunActions, "start" | "stop">
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
  const parts: RouteDependencies = {
    ...options,
    streams,
    groups,
    answers,
    countErased: () => options.metrics.service.erased(),
    countEvent: (outcome) => options.metrics.service.eventSent(outcome),
  }
  let draining = false

  readBodies(app, new ArrivingBodies(transit), new ArrivingBodies(new MemoryShare(ofDeliveries(options.transit))))
  answers.countIn(app)
  app.setErrorHandler((found, request, reply) => {
    const error = explained(found)
    options.metrics.service.refused(asHttpError(error)?.error.kind ?? "internal_error")
    return answerError(error, reply, (bug) => logBug(bug, request.routeOptions.url))
  })
  spreadPipelined(app.server)
  refuseOddities(app.server)
  watchArrivals(app.server, requestTimeout, streamsIn)
  if (options.maxConnections !== undefined) boundConnections(app.server, options.maxConnections)
  app.server.on("connection", () => loopTurns.accepted())
  countRequests(app, options.metrics.service, options.folder)
  const limit = new RateLimit(options.rateLimit, options.spending)
  guard(app, options, limit)
  answerNoRoute(app)
  const actions = new RunActions(parts)
  allRoutes(app, parts, { actions, server: options, limit, transit, explained, logBug, isDraining: () => draining })
  return {
    app,
    streams,
    actions,
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
/** A small part of what all bodies may take, since anybody can send deliveries; there is always room for several. */
function ofDeliveries(transit: MemoryBounds | undefined): MemoryBounds | undefined {
  if (transit === undefined) return undefined
  const { all, perCaller } = transit
  return { all: Math.max(all / 8, 16 * hookBytes), perCaller: Math.max(perCaller / 8, 8 * hookBytes), perRun: 0 }
}

/** A file may take its time. */
function streamsIn({ method, url }: IncomingMessage): boolean {
  return method === "POST" && /^(?:\/v1)?\/files\/?(?:\?|$)/.test(url ?? "")
}

function aliased(url: string): string {
  return /^\/runs\/(?!stats(?:\?|$)|actions(?:[/?]|$))[^/?]+(?:\/(?:events|cancel))?(?:\?|$)/.test(url)
    ? `/execute${url.slice("/runs".length)}`
    : url
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
