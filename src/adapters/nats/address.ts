import { readFileSync } from "node:fs"

/** What `WIRE_STORE=nats://…` and the variables beside it say. */
export interface BrokerAddress {
  /** `host:port`, at least one. */
  readonly servers: readonly string[]
  readonly tls: boolean
  readonly user: string | null
  readonly password: string | null
  readonly token: string | null
}

/** The address, or what is wrong with it: the end of a sentence that begins with "it must". */
export type AddressRead =
  | { readonly ok: true; readonly address: BrokerAddress }
  | { readonly ok: false; readonly must: string }

const defaultPort = "4222"
const usage = "be like nats://a:4222,b:4222, with user:password@ or token@ before the first host, or tls://…"

/** `nats://user:password@a:4222,b:4222`; each host may repeat the scheme; what is before the `@` may be percent-encoded. */
export function readAddress(written: string): AddressRead {
  const [, scheme, rest] = /^(nats|tls):\/\/(.*)$/s.exec(written.trim()) ?? []
  if (scheme === undefined || rest === undefined) return { ok: false, must: usage }
  const at = rest.lastIndexOf("@")
  const login = at < 0 ? null : readLogin(rest.slice(0, at))
  if (at >= 0 && login === null)
    return { ok: false, must: "have user:password or a token before its @, percent-encoded" }
  const servers: string[] = []
  for (const item of rest.slice(at + 1).split(",")) {
    const [, host, port = defaultPort] =
      /^(?:(?:nats|tls):\/\/)?(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?\/?$/.exec(item.trim()) ?? []
    if (host === undefined) return { ok: false, must: `name hosts such as a:4222, and "${item}" is not a host` }
    if (Number(port) < 1 || Number(port) > 65_535) return { ok: false, must: `have ports from 1 to 65535, not ${port}` }
    servers.push(`${host}:${port}`)
  }
  return {
    ok: true,
    address: { servers, tls: scheme === "tls", ...(login ?? { user: null, password: null, token: null }) },
  }
}

function readLogin(text: string): Pick<BrokerAddress, "user" | "password" | "token"> | null {
  const colon = text.indexOf(":")
  try {
    const [first, second] = colon < 0 ? [text, null] : [text.slice(0, colon), text.slice(colon + 1)]
    const name = decodeURIComponent(first)
    if (name === "") return null
    if (second === null) return { user: null, password: null, token: name }
    return { user: name, password: decodeURIComponent(second), token: null }
  } catch {
    return null
  }
}

/** Files that prove who we are and whom we trust; the paths are the operator's. */
export interface BrokerFiles {
  /** A creds file of `nsc`: user JWT and seed. */
  readonly creds?: string | undefined
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

export interface BrokerProofs {
  readonly creds: Uint8Array | null
  readonly ca: string | null
  readonly cert: string | null
  readonly key: string | null
}

/** Their contents, or a sentence on the one that cannot be read. */
export function readProofs(files: BrokerFiles): BrokerProofs | string {
  if ((files.cert === undefined) !== (files.key === undefined)) {
    return "WIRE_NATS_CERT and WIRE_NATS_KEY belong together: set both, or neither."
  }
  const read = (variable: string, path: string | undefined): Buffer | null => {
    if (path === undefined) return null
    try {
      return readFileSync(path)
    } catch (error) {
      throw new Unreadable(`${variable} is "${path}", which cannot be read: ${String(error)}.`)
    }
  }
  try {
    return {
      creds: read("WIRE_NATS_CREDS", files.creds),
      ca: read("WIRE_NATS_CA", files.ca)?.toString("utf8") ?? null,
      cert: read("WIRE_NATS_CERT", files.cert)?.toString("utf8") ?? null,
      key: read("WIRE_NATS_KEY", files.key)?.toString("utf8") ?? null,
    }
  } catch (error) {
    if (error instanceof Unreadable) return error.message
    throw error
  }
}

class Unreadable extends Error {}
