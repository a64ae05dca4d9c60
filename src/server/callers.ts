import { createHash, timingSafeEqual } from "node:crypto"
import { refuse, type HttpError } from "./http-error.ts"

export interface CallerKey {
  readonly name: string
  readonly key: string
}

/** Who may call. Without keys everyone may, and all are one caller. */
export class Callers {
  readonly #keys: readonly { readonly name: string; readonly digest: Buffer }[]

  constructor(keys: readonly CallerKey[]) {
    this.#keys = keys.map(({ name, key }) => ({ name, digest: digest(key) }))
  }

  get required(): boolean {
    return this.#keys.length > 0
  }

  get several(): boolean {
    return new Set(this.#keys.map(({ name }) => name)).size > 1
  }

  /** Whether an `Authorization` header has one of the keys. */
  knows(authorization: string | undefined): boolean {
    const given = keyIn(authorization)
    return given !== undefined && this.#find(given) !== undefined
  }

  /** The name that an `Authorization` header belongs to; empty where no keys are asked for. */
  name(authorization: string | undefined): string {
    if (!this.required) return ""
    const given = keyIn(authorization)
    if (given === undefined) throw unauthorized("An API key is required: send `Authorization: Bearer …`")
    const found = this.#find(given)
    if (found === undefined) throw unauthorized("This API key is not known")
    return found
  }

  #find(given: string): string | undefined {
    const wanted = digest(given)
    // Every key is compared, whichever matches, so that the time says nothing about them.
    let found: string | undefined
    for (const { name, digest: known } of this.#keys) if (timingSafeEqual(known, wanted)) found = name
    return found
  }
}

function keyIn(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1]
}

function digest(key: string): Buffer {
  return createHash("sha256").update(key).digest()
}

/** Without keys only the id of a run protects it: beyond loopback, nobody can list runs or questions. */
export function listNeedsKeys(what: string): HttpError {
  return unauthorized(
    `The list of ${what} needs callers with keys (WIRE_API_KEYS) where the service listens beyond loopback`,
  )
}

function unauthorized(message: string): HttpError {
  return refuse("unauthorized", message, [], { "www-authenticate": "Bearer" })
}
