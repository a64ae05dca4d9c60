import { createHash, timingSafeEqual } from "node:crypto"
import { refuse } from "./http-error.ts"

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

  /** The name that an `Authorization` header belongs to; empty where no keys are asked for. */
  name(authorization: string | undefined): string {
    if (!this.required) return ""
    const given = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1]
    if (given === undefined) throw unauthorized("An API key is required: send `Authorization: Bearer …`")
    const wanted = digest(given)
    // Every key is compared, whichever matches, so that the time says nothing about them.
    let found: string | undefined
    for (const { name, digest: known } of this.#keys) if (timingSafeEqual(known, wanted)) found = name
    if (found === undefined) throw unauthorized("This API key is not known")
    return found
  }
}

function digest(key: string): Buffer {
  return createHash("sha256").update(key).digest()
}

function unauthorized(message: string) {
  return refuse("unauthorized", message, [], { "www-authenticate": "Bearer" })
}
