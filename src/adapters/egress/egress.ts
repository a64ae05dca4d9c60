import { lookup as systemLookup } from "node:dns/promises"
import type { LookupAddress } from "node:dns"
import type { LookupFunction } from "node:net"
import { callbackify } from "node:util"
import type { Egress, EgressLimits, EgressRequest, EgressResponse } from "../../ports/egress.ts"
import { EgressFailure } from "../../ports/egress.ts"
import { pass } from "../../ports/gate.ts"
import { Call } from "./call.ts"
import { ConnectionPool } from "./connection-pool.ts"
import { decoded } from "./decode-body.ts"
import { exchange, type Address, type ExchangeRequest } from "./exchange.ts"
import { toFetch, type Redirects } from "./fetch.ts"
import type { Destination, EgressPolicy } from "./policy.ts"
import { bareHost, blocked, judgeAddress, judgeDestination, portOf } from "./policy.ts"
import { modelConnectMs, modelRedirects } from "../../base/limits.ts"

/** All addresses of a name, in the order in which they are tried. */
export type Resolve = (host: string) => Promise<readonly { readonly address: string; readonly family: number }[]>

export interface EgressOptions {
  readonly policy: EgressPolicy
  readonly resolve?: Resolve
  readonly connectMs?: number
  readonly maxConnections?: number
  readonly userAgent?: string
  /** PEM certificates to trust beside the system's. */
  readonly ca?: string
  /** Called when a request fails because this process may open no more connections. */
  readonly onShortage?: () => void
}

/** For calls that do not set their own. */
const defaultLimits: EgressLimits = {
  firstByteMs: 300_000,
  silenceMs: 120_000,
  totalMs: 600_000,
  max_bytes: 32 * 1024 * 1024,
}

/** These frame the message: they are the connection's, not the caller's. */
const framing = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "upgrade",
  "expect",
  "te",
  "trailer",
])

/** What goes along to another origin. Any other header could be a credential. */
const harmless = new Set(["accept", "accept-language", "content-type", "user-agent"])

export function createEgress(options: EgressOptions): Egress {
  const { policy } = options
  const resolve = options.resolve ?? resolveBySystem
  const pool = new ConnectionPool({
    connectMs: options.connectMs ?? modelConnectMs,
    maxConnections: options.maxConnections ?? 256,
    lookup: (origin) => judgingLookup(policy, destinationOf(new URL(origin)), resolve),
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  })

  function permit(text: string, base?: URL): Address {
    const url = parseUrl(text, base)
    const refusal = judgeDestination(policy, destinationOf(url))
    if (refusal !== null) throw refusal
    return { url, origin: url.origin, path: url.pathname + url.search }
  }

  // Most calls of a busy service go to the same few addresses, and to read and judge one takes a while. A URL may hold a secret,
  // which must not outlive its run: it is forgotten with the last call to it.
  const underWay = new Map<string, { readonly address: Address; calls: number }>()

  function permitFor(call: Call, text: string): Address {
    let known = underWay.get(text)
    if (known === undefined) {
      known = { address: permit(text), calls: 0 }
      underWay.set(text, known)
    }
    const used = known
    used.calls++
    call.onEnd(() => {
      if (--used.calls === 0) underWay.delete(text)
    })
    return used.address
  }

  async function send(sent: ExchangeRequest, call: Call): Promise<EgressResponse> {
    let wait = sent.gate()
    for (;;) {
      if (wait !== null) {
        await wait
        await pass(sent.gate)
      }
      const connection = await pool.acquire(sent.address.origin, call)
      // The call may have waited for it, and a new connection would be made in vain.
      wait = sent.gate()
      if (wait !== null) {
        connection.destroy()
        continue
      }
      const response = await exchange(connection, sent, call)
      if (response !== "held back") return response
    }
  }

  async function request(asked: EgressRequest, redirect: Redirects): Promise<EgressResponse> {
    const given = asked.limits === undefined ? defaultLimits : { ...defaultLimits, ...asked.limits }
    const call = new Call(asked.signal, given.totalMs, asked.arrival)
    try {
      let address = permitFor(call, asked.url)
      let headers = sendable(asked.headers, options.userAgent ?? "wireworks")
      let { method, body } = asked
      for (let redirects = 0; ; redirects++) {
        const { gate, arrival = null } = asked
        const leaves = redirecting(redirect, method)
        const sent = { address, method, headers, body, gate, limits: given, leaves, arrival }
        const response = await send(sent, call)
        const { url } = address
        if (!leaves(response.status, response.headers)) {
          return decoded(response, { host: url.host, max_bytes: given.max_bytes, arrival, signal: asked.signal })
        }
        if (redirect === "error" || redirects === modelRedirects) {
          const most = redirect === "error" ? 0 : modelRedirects
          throw new EgressFailure("too_many_redirects", `${url.host} redirects more than ${most} times`)
        }
        const next = permit(response.headers["location"] ?? "", url)
        if (response.status === 303) {
          method = method === "HEAD" ? "HEAD" : "GET"
          body = null
        }
        if (next.origin !== address.origin) {
          if (body !== null && asked.bodyStays === true) {
            const where = `${url.host} redirects to ${next.url.host}`
            throw new EgressFailure("redirect_refused", `${where}: a request that holds secrets is not sent there`)
          }
          headers = pickHarmless(headers)
        }
        address = next
      }
    } catch (error) {
      call.end()
      if (error instanceof EgressFailure && error.reason === "descriptors") options.onShortage?.()
      throw error
    }
  }

  return {
    request: (asked) => request(asked, asked.redirect ?? "follow"),
    fetch: toFetch(request),
    close: () => {
      pool.destroy()
      return Promise.resolve()
    },
  }
}

async function resolveBySystem(host: string): Promise<readonly LookupAddress[]> {
  return systemLookup(host, { all: true, order: "verbatim" })
}

/**
 * Node connects a socket to what its lookup returned and asks no second time: every address is judged here, between the
 * name and the socket, and one that is refused refuses them all.
 */
function judgingLookup(policy: EgressPolicy, destination: Destination, resolve: Resolve): LookupFunction {
  const judged = callbackify(async (): Promise<LookupAddress[]> => {
    const addresses = await resolve(destination.host)
    for (const { address } of addresses) {
      const refusal = judgeAddress(policy, destination, address)
      if (refusal !== null) throw refusal
    }
    return [...addresses]
  })
  return (_, options, callback) =>
    judged((error, addresses) => {
      const [first] = addresses ?? []
      if (error !== null) callback(error, [])
      else if (first === undefined) callback(Object.assign(new Error("No address"), { code: "ENOTFOUND" }), [])
      else if (options.all === true) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
}

function parseUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href)
  if (url === null) throw blocked("The endpoint is not a URL.", null)
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    // What stands before the colon is not shown: it may be the beginning of a key that was taken for an endpoint.
    throw blocked("Only http and https URLs can be called.", null)
  }
  if (url.username !== "" || url.password !== "") {
    throw blocked("A URL may not contain a user name or password: put credentials in api_key or headers.", null)
  }
  if (url.hostname.endsWith(".")) url.hostname = url.hostname.slice(0, -1)
  return url
}

function destinationOf(url: URL): Destination {
  return { host: bareHost(url), port: portOf(url) }
}

/** Whether a response sends the call elsewhere. A body is sent again only where the method must stay. */
function redirecting(redirect: Redirects, method: string): ExchangeRequest["leaves"] {
  if (redirect === "manual") return () => false
  return method === "GET" || method === "HEAD" ? leavesSafely : leavesWithBody
}

const leavesWithBody: ExchangeRequest["leaves"] = (status, headers) =>
  (status === 307 || status === 308) && headers["location"] !== undefined

const leavesSafely: ExchangeRequest["leaves"] = (status, headers) =>
  (status === 301 || status === 302 || status === 303 || status === 307 || status === 308) &&
  headers["location"] !== undefined

function sendable(headers: Readonly<Record<string, string>>, userAgent: string): Record<string, string> {
  const result: Record<string, string> = { "user-agent": userAgent }
  for (const name in headers) {
    const lower = name.toLowerCase()
    if (!framing.has(lower)) result[lower] = headers[name] ?? ""
  }
  return result
}

function pickHarmless(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => harmless.has(name)))
}
