import { StoreFailure } from "../../ports/store.ts"

/** The server cannot be reached, or is not (or no longer) the one that takes writes. Asking again later may work. */
export class ConnectionLost extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.name = "ConnectionLost"
  }
}

/** The code of an error that the server answered with (`23505`), or of the system (`ECONNREFUSED`). */
export function codeOf(error: unknown): string | null {
  if (!(error instanceof Error && "code" in error && typeof error.code === "string")) return null
  return error.code
}

/** Connection exceptions, shutdowns, a server that starts, one that only reads, too many connections. */
const lost = /^(08...|57P0[1-5]|25006|53300|E[A-Z_]+)$/
const lostMessages =
  /^(Connection terminated|timeout expired|Query read timeout|Client (has|was)|read E|write E|socket)/i

export function isConnectionLost(error: unknown): boolean {
  if (error instanceof ConnectionLost) return true
  const code = codeOf(error)
  if (code !== null) return lost.test(code)
  return error instanceof Error && lostMessages.test(error.message)
}

/** Two transactions stood in each other's way: one of them is to be tried again. */
export function isConflict(error: unknown): boolean {
  const code = codeOf(error)
  return code === "40001" || code === "40P01"
}

/** A statement before it in the same transaction had failed. */
export function isConsequence(error: unknown): boolean {
  return codeOf(error) === "25P02"
}

/** One operation cannot be stored; the others of its transaction can. */
export function isOfOneOperation(error: unknown): boolean {
  return /^(22|23|54)...$/.test(codeOf(error) ?? "")
}

/** The message for an operator. It never contains anything of a run: the server's own words do so only for broken constraints. */
export function sentenceFor(where: string, error: unknown): string {
  const code = codeOf(error) ?? ""
  const said = error instanceof Error ? error.message : String(error)
  switch (code) {
    case "28P01":
    case "28000":
      return `PostgreSQL at ${where} refuses the login: check the user and the password in WIRE_STORE (${said})`
    case "3D000":
      return `PostgreSQL at ${where} has no such database: create it, or correct WIRE_STORE (${said})`
    case "42501":
      return `The role in WIRE_STORE lacks rights in PostgreSQL at ${where} (${said}): grant it CREATE on the database, or make it the owner of the schema`
    case "53100":
      return `The disk of PostgreSQL at ${where} is full: nothing more can be stored until there is space`
    case "53300":
      return `PostgreSQL at ${where} has no connection free: raise max_connections; each replica needs 5`
    case "25006":
      return `PostgreSQL at ${where} takes no writes: it is a standby, or set to read only`
    case "42P01":
    case "3F000":
      return `The tables of this service are missing in PostgreSQL at ${where}: restore them, or start the service again to make new ones`
    case "57014":
      return `PostgreSQL at ${where} took too long to answer`
  }
  if (said === "The server does not support SSL connections") {
    return `PostgreSQL at ${where} offers no TLS: turn it on there, or, on a network that you trust, add ?sslmode=disable to WIRE_STORE`
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return `The certificate of PostgreSQL at ${where} is not for that name (${said}): write the name that is in it into WIRE_STORE, or add ?sslmode=verify-ca`
  }
  if (/CERT|SIGNATURE/.test(code)) {
    return `The certificate of PostgreSQL at ${where} is not trusted (${said}): set WIRE_POSTGRES_CA to the file of the authority that signed it`
  }
  if (/^(22|23)/.test(code)) return `PostgreSQL at ${where} refuses a value (${code})`
  if (isConnectionLost(error)) return `PostgreSQL at ${where} cannot be reached: ${said}`
  return `PostgreSQL at ${where} failed: ${said}`
}

export function failureOf(where: string, error: unknown): StoreFailure {
  return error instanceof StoreFailure ? error : new StoreFailure(sentenceFor(where, error), error)
}
