import { isIP } from "node:net"
import type { IncomingHttpHeaders } from "node:http"
import { refuse } from "./http-error.ts"

export interface BrowserRules {
  /** Names that the service may be reached under, besides IP addresses and `localhost`. */
  readonly allowedHosts: readonly string[]
  readonly allowedOrigins: readonly string[]
}

/**
 * Without keys, a page of another site must not use the service through its visitor's browser, neither directly (its
 * `Origin` is foreign) nor by DNS rebinding (then the `Host` is its own name). Requests without a browser's marks pass.
 *
 * The marks are `Origin`, `Sec-Fetch-Site` and a browser's `User-Agent`. To a page that was loaded over plain HTTP under a
 * name, its own service is "same origin" and not "potentially trustworthy": browsers send its GET requests with the last one only.
 * Firefox lets a page write another `User-Agent`, but not leave out `Accept-Language`. Of other clients only Node's `fetch` sends that, with a
 * `Sec-Fetch-Mode`, which no page can write.
 */
export function checkBrowser(headers: IncomingHttpHeaders, rules: BrowserRules, navigation: boolean): void {
  const { origin, host } = headers
  const site = headers["sec-fetch-site"]
  const marked = origin !== undefined || site !== undefined
  const speaks = headers["accept-language"] !== undefined && headers["sec-fetch-mode"] === undefined
  if (!marked && !speaks && !isBrowser(headers["user-agent"])) return
  const name = hostName(host ?? "")
  if (name !== "localhost" && isIP(name) === 0 && !rules.allowedHosts.some((allowed) => hostName(allowed) === name)) {
    throw forbidden(
      `This service does not accept the host ${show(name)}: add it to WIRE_ALLOWED_HOSTS to use it in a browser`,
    )
  }
  if (origin !== undefined) {
    if (isOwn(origin, host) || isAllowed(origin, rules)) return
    throw forbidden(
      `Pages from ${show(origin)} may not call this service: add it to WIRE_ALLOWED_ORIGINS to allow them`,
    )
  }
  if (!marked) return
  // A link from elsewhere that a person follows to the playground carries no origin, and runs nothing by itself.
  if (site === "same-origin" || site === "none" || navigation) return
  throw forbidden("Other sites may not call this service: add theirs to WIRE_ALLOWED_ORIGINS to allow it")
}

/** Every browser's `User-Agent` begins like this; those of curl, undici, Python's clients and the like do not. */
function isBrowser(userAgent: string | undefined): boolean {
  return userAgent !== undefined && /^mozilla\//i.test(userAgent)
}

export function isAllowed(origin: string, rules: BrowserRules): boolean {
  return rules.allowedOrigins.includes(origin) || rules.allowedOrigins.includes("*")
}

function isOwn(origin: string, host: string | undefined): boolean {
  const [, authority] = /^https?:\/\/([^/]+)$/.exec(origin) ?? []
  return authority !== undefined && host !== undefined && authority.toLowerCase() === host.toLowerCase()
}

/** The host without its port and brackets. */
function hostName(host: string): string {
  const [, bracketed] = /^\[([^\]]+)\](?::\d+)?$/.exec(host) ?? []
  return (bracketed ?? host.replace(/:\d+$/, "")).toLowerCase().replace(/\.$/, "")
}

function show(text: string): string {
  return text === "" ? "no name" : text.slice(0, 100).replace(/[^\x20-\x7e]/g, "?")
}

function forbidden(message: string) {
  return refuse("forbidden", message)
}

/** CORS is off unless other origins are allowed. */
export function corsHeaders(origin: string | undefined, rules: BrowserRules): Record<string, string> {
  if (rules.allowedOrigins.length === 0) return {}
  const vary = { vary: "Origin" }
  if (origin === undefined || !isAllowed(origin, rules)) return vary
  return {
    ...vary,
    "access-control-allow-origin": origin,
    "access-control-expose-headers":
      "x-service-run-id, idempotency-replayed, retry-after, location, preference-applied",
  }
}

export const preflightHeaders: Readonly<Record<string, string>> = {
  "access-control-allow-methods": "GET, POST, DELETE",
  "access-control-allow-headers": "authorization, content-type, accept, idempotency-key, last-event-id, prefer",
  "access-control-max-age": "600",
}
