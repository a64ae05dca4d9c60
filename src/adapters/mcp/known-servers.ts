import { createHash } from "node:crypto"
import type { PriorDiscovery } from "@modelcontextprotocol/client"
import type { JsonObject } from "../../base/json-value.ts"
import type { ToolServer } from "../../ports/tools.ts"

/** What is remembered of a server, as one set of credentials sees it, from one run to the next. */
export interface KnownServer {
  /** How it was reached last, and until when that is taken for granted. */
  way: { readonly kind: "streamable" | "sse"; readonly prior: PriorDiscovery; readonly until: number } | null
  /** Lists that the server said may be kept, by method. */
  readonly lists: Map<string, { readonly items: readonly JsonObject[]; readonly until: number }>
}

/** A server that is upgraded is asked again after so long. */
const wayMs = 10 * 60 * 1000
const longestListMs = 24 * 60 * 60 * 1000
const mostServers = 200
const mostListBytes = 512 * 1024

/** The servers met last. Nothing of one server, or of one set of credentials, is ever used for another. */
export class KnownServers {
  readonly #servers = new Map<string, KnownServer>()

  of(server: ToolServer): KnownServer {
    const key = keyOf(server)
    const known: KnownServer = this.#servers.get(key) ?? { way: null, lists: new Map() }
    // The one used last stands last; the one that stands first is forgotten.
    this.#servers.delete(key)
    this.#servers.set(key, known)
    const [oldest] = this.#servers.keys()
    if (this.#servers.size > mostServers && oldest !== undefined) this.#servers.delete(oldest)
    return known
  }
}

export function rememberWay(known: KnownServer, kind: "streamable" | "sse", prior: PriorDiscovery): void {
  known.way = { kind, prior, until: Date.now() + wayMs }
}

export function wayTo({ way }: KnownServer): NonNullable<KnownServer["way"]> | null {
  return way !== null && way.until > Date.now() ? way : null
}

export function rememberList(known: KnownServer, method: string, items: readonly JsonObject[], ttlMs: number): void {
  known.lists.delete(method)
  if (!(ttlMs > 0) || JSON.stringify(items).length > mostListBytes) return
  known.lists.set(method, { items, until: Date.now() + Math.min(ttlMs, longestListMs) })
}

export function listOf({ lists }: KnownServer, method: string): readonly JsonObject[] | null {
  const list = lists.get(method)
  return list !== undefined && list.until > Date.now() ? list.items : null
}

/** Headers are credentials: they count, and are not kept. */
function keyOf({ endpoint, headers }: ToolServer): string {
  const sorted = Object.entries(headers).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return createHash("sha256")
    .update(JSON.stringify([endpoint, sorted]))
    .digest("base64")
}
