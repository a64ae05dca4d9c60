import type { FastifyInstance, FastifyRequest } from "fastify"
import { checkBrowser, corsHeaders, isAllowed, preflightHeaders, type BrowserRules } from "./browser-rules.ts"
import { Callers, notForOperators, stranger, type Caller } from "./callers.ts"
import { refuse } from "./http-error.ts"
import { networkOf } from "./network-of.ts"
import { pathOf } from "./no-route.ts"
import { OpenRequests } from "./open-requests.ts"
import type { RateLimit } from "./rate-limit.ts"
import { RequestTurns } from "./request-turns.ts"
import type { ServerOptions } from "./server-options.ts"
import { ThrottledLog } from "./throttled-log.ts"

/** Keys that are refused are logged this often, however many are tried. */
const refusalsEveryMs = 60_000

const unguarded = new Set(["/healthz", "/readyz"])

function isPlayground(path: string): boolean {
  return path === "/" || /^\/(?:playground|console)(?:\/|$)/.test(path)
}

function isHook(path: string): boolean {
  return path.startsWith("/hooks/")
}

/** Checks who calls, from where and how often, before any body is read; then callers take turns. */
export function guard(app: FastifyInstance, options: ServerOptions, limit: RateLimit): void {
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

/** Others on the way may have gone by the other one. */
function hasTwoHosts(headers: readonly string[]): boolean {
  let found = 0
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at]?.length === 4 && headers[at]?.toLowerCase() === "host") found++
  }
  return found > 1
}
