import { hash, randomBytes } from "node:crypto"
import { refuse, type HttpError } from "./http-error.ts"

export interface CallerKey {
  readonly name: string
  readonly key: string
}

export interface Caller {
  readonly name: string
  /** Sees, cancels and deletes the runs of all callers, and starts and answers none. */
  readonly operator: boolean
}

/** Everyone who calls a service without keys. */
export const stranger: Caller = { name: "", operator: false }

/** Finds the caller of a request by its key. Without keys everyone may call, and all are one caller, except operators. */
export class Callers {
  // By digests that nobody outside can compute: how long a search takes says nothing about the keys, however many there are.
  readonly #secret = randomBytes(32).toString("base64")
  readonly #names: ReadonlyMap<string, string>
  readonly #operators: ReadonlyMap<string, string>

  constructor(keys: readonly CallerKey[], operators: readonly CallerKey[] = []) {
    this.#names = new Map(keys.map(({ name, key }) => [this.#digest(key), name]))
    this.#operators = new Map(operators.map(({ name, key }) => [this.#digest(key), name]))
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
    return given !== undefined && this.#names.has(this.#digest(given))
  }

  /** The caller with the key of an `Authorization` header; without a name where no keys are asked for. */
  find(authorization: string | undefined): Caller {
    const given = keyIn(authorization)
    const digest = given === undefined ? "" : this.#digest(given)
    const operator = this.#operators.get(digest)
    if (operator !== undefined) return { name: operator, operator: true }
    if (!this.required) return stranger
    if (given === undefined) throw unauthorized("An API key is required: send `Authorization: Bearer …`")
    const name = this.#names.get(digest)
    if (name === undefined) throw unauthorized("This API key is not known")
    return { name, operator: false }
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

export function notForOperators(): HttpError {
  return refuse(
    "forbidden",
    "This key is an operator's (WIRE_OPERATOR_KEYS): it sees, cancels and deletes runs of all callers, and starts and answers none",
  )
}

function unauthorized(message: string): HttpError {
  return refuse("unauthorized", message, [], { "www-authenticate": "Bearer" })
}
