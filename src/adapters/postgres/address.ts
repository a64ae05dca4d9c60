import { readFileSync } from "node:fs"

/** What `WIRE_STORE=postgres://…` and the variables beside it say. */
export interface PostgresAddress {
  readonly host: string
  readonly port: number
  readonly user: string
  /** Null: the server asks for none. */
  readonly password: string | null
  readonly database: string
  readonly tls: Tls
}

/** The values of `sslmode`: `require` encrypts and checks nothing, `verify-ca` checks who signed the certificate, `verify-full` the name in it as well. */
export type Tls = "disable" | "require" | "verify-ca" | "verify-full"

/** The address, or what is wrong with it: the end of a sentence that begins with "it must". */
export type AddressRead =
  | { readonly ok: true; readonly address: PostgresAddress }
  | { readonly ok: false; readonly must: string }

const usage = "be like postgres://user:password@host:5432/database"
const modes: readonly Tls[] = ["disable", "require", "verify-ca", "verify-full"]

/** Without a `sslmode` a server on this machine is not asked for TLS, and any other must have it. */
export function readAddress(written: string): AddressRead {
  let url: URL
  try {
    url = new URL(written.trim())
  } catch {
    return { ok: false, must: usage }
  }
  if (url.protocol !== "postgres:" && url.protocol !== "postgresql:") return { ok: false, must: usage }
  const database = decoded(url.pathname.slice(1))
  const [user, password] = [decoded(url.username), decoded(url.password)]
  if (database === null || user === null || password === null) {
    return { ok: false, must: "have its user, password and database percent-encoded" }
  }
  if (url.hostname === "") return { ok: false, must: `name a host: ${usage}` }
  if (user === "") return { ok: false, must: `name a user: ${usage}` }
  if (database === "" || database.includes("/"))
    return { ok: false, must: `name one database after the host: ${usage}` }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1")
  let tls: Tls = isHere(host) ? "disable" : "require"
  for (const [name, value] of url.searchParams) {
    const mode = modes.find((one) => one === value)
    if (name !== "sslmode") return { ok: false, must: `have no "${name}" after its ?: only sslmode is known there` }
    if (mode === undefined) return { ok: false, must: `have an sslmode out of ${modes.join(", ")}, not "${value}"` }
    tls = mode
  }
  const port = url.port === "" ? 5432 : Number(url.port)
  return { ok: true, address: { host, port, user, password: password === "" ? null : password, database, tls } }
}

function isHere(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.")
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** Paths of the operator's files. */
export interface PostgresFiles {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

export interface PostgresProofs {
  readonly ca: string | null
  readonly cert: string | null
  readonly key: string | null
}

/** Their contents, or a sentence on what is wrong with them. */
export function readProofs(files: PostgresFiles, { tls }: PostgresAddress): PostgresProofs | string {
  if ((files.cert === undefined) !== (files.key === undefined)) {
    return "WIRE_POSTGRES_CERT and WIRE_POSTGRES_KEY belong together: set both, or neither."
  }
  const given = files.ca !== undefined || files.cert !== undefined
  if (given && tls === "disable") {
    return "WIRE_POSTGRES_CA and WIRE_POSTGRES_CERT are for a connection with TLS: add ?sslmode=verify-full to WIRE_STORE."
  }
  const proofs: { ca: string | null; cert: string | null; key: string | null } = { ca: null, cert: null, key: null }
  for (const name of ["ca", "cert", "key"] as const) {
    const path = files[name]
    if (path === undefined) continue
    try {
      proofs[name] = readFileSync(path, "utf8")
    } catch (error) {
      return `WIRE_POSTGRES_${name.toUpperCase()} is "${path}", which cannot be read: ${String(error)}.`
    }
  }
  return proofs
}
