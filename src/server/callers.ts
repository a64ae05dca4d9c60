import { hash, randomBytes } from "node:crypto"
import { refuse, type HttpError } from "./http-error.ts"

export interface CallerKey {
  readonly name: string
  readonly key: string
}

/** Finds the caller of a request by its key. Without keys everyone may call, and all are one caller. */
export class Callers {
  // By digests that nobody outside can compute: how long a search takes says nothing about the keys, however many there are.
  readonly #secret = randomBytes(32).toString("base64")
  readonly #names: ReadonlyMap<string, string>

  constructor(keys: readonly CallerKey[]) {
    this.#names = new Map(keys.map(({ name, key }) => [this.#digest(key), name]))
  }

  get required(): boolean {
    return this.#names.size > 0
  }

  get several(): boolean {
    return new Set(this.#names.values()).size > 1
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
    return this.#names.get(this.#digest(given))
  }

  #digest(key: string): string {
    return hash("sha256", `${this.#secret} ${key}`, "base64")
  }
}

function keyIn(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1]
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
