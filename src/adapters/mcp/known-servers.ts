import { createHash } from "node:crypto"
import type { PriorDiscovery } from "@modelcontextprotocol/client"
import type { JsonObject } from "../../base/json-value.ts"
import type { ToolServer } from "../../ports/tools.ts"
import { isDeeper } from "../../base/bounded-json.ts"
import { mcpKnownBytes, mcpKnownListBytes, mcpKnownServers } from "../../base/limits.ts"

/** Facts about a server, as one set of credentials sees it, that outlive a run. */
export interface KnownServer {
  /** How it was reached last, and until when that is taken for granted. */
  way: { readonly kind: "streamable" | "sse"; readonly prior: PriorDiscovery; readonly until: number } | null
  /** Lists that the server said may be kept, by method. */
  readonly lists: Map<string, { readonly items: readonly JsonObject[]; readonly bytes: number; readonly until: number }>
}

/** A server that is upgraded is asked again after so long. */
const wayMs = 10 * 60 * 1000
const longestListMs = 24 * 60 * 60 * 1000
/** What a server says of itself, in its own words, is not remembered beyond this. */
const maxDiscoveryBytes = 16 * 1024

/** The servers met last. Nothing of one server, or of one set of credentials, is ever used for another. */
export class KnownServers {
  readonly #servers = new Map<string, KnownServer>()

  of(server: ToolServer): KnownServer {
    const key = keyOf(server)
    const known: KnownServer = this.#servers.get(key) ?? { way: null, lists: new Map() }
    // The one used last stands last; those that stand first are forgotten.
    this.#servers.delete(key)
    let bytes = 0
    for (const { lists } of this.#servers.values()) for (const list of lists.values()) bytes += list.bytes
    for (const [oldest, { lists }] of this.#servers) {
      if (bytes <= mcpKnownBytes && this.#servers.size < mcpKnownServers) break
      for (const list of lists.values()) bytes -= list.bytes
      this.#servers.delete(oldest)
    }
    this.#servers.set(key, known)
    return known
  }
}

export function rememberWay(known: KnownServer, kind: "streamable" | "sse", prior: PriorDiscovery): void {
  if (isDeeper(prior, 100) || JSON.stringify(prior).length > maxDiscoveryBytes) return
  known.way = { kind, prior, until: Date.now() + wayMs }
}

export function wayTo({ way }: KnownServer): NonNullable<KnownServer["way"]> | null {
  return way !== null && way.until > Date.now() ? way : null
}

export function rememberList(
  known: KnownServer,
  method: string,
  items: readonly JsonObject[],
  bytes: number,
  ttlMs: number,
): void {
  known.lists.delete(method)
  if (!(ttlMs > 0) || bytes > mcpKnownListBytes) return
  known.lists.set(method, { items, bytes, until: Date.now() + Math.min(ttlMs, longestListMs) })
}

export function listOf({ lists }: KnownServer, method: string): readonly JsonObject[] | null {
  const list = lists.get(method)
  return list !== undefined && list.until > Date.now() ? list.items : null
}

/** Headers are credentials: they count, and are not kept. */
function keyOf({ endpoint, headers, auth }: ToolServer): string {
  const sorted = Object.entries(headers).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return createHash("sha256")
    .update(JSON.stringify([endpoint, sorted, auth ?? null]))
    .digest("base64")
}
