import { objectOf } from "../base/ordered-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"

// The requests of a run's model calls and tool calls, as they went over the wire, beside the events that tell of the calls. Turns of a conversation repeat
// what was said before: a large part is stored once for a run, and named by its hash wherever else it stands.

/** A request as an event keeps it. */
export interface StoredRequest {
  readonly call_id: string
  readonly method: string
  readonly url: string
  /** Keys and what the workflow sets are names of variables: `$KEY`. */
  readonly headers: Readonly<Record<string, string>>
  /** The body, with `{ "$part": hash }` in place of what is stored as a part; null where it is not kept. */
  readonly body: JsonValue
  /** The body is a text of its own, and not JSON as this service would write it. */
  readonly isText?: true
  /** The body is the text of its JSON. */
  readonly isJson?: true
  /** Size of the body as it was sent. */
  readonly bytes: number
  /** Of a model call: those up to the end of what stays the same from call to call. Absent where nobody knows. */
  readonly stable_bytes?: number
  /** Secrets were replaced in it: what was sent differs. */
  readonly redacted?: true
}

/** Requests that one event keeps, with the parts that no earlier event has. */
export interface StoredRequests {
  readonly requests: readonly StoredRequest[]
  readonly parts?: Readonly<Record<string, JsonValue>>
}

const reference = "$part"

/** A body whose large parts are named by their hashes. */
export interface Shared {
  readonly body: JsonValue
  /** Every part that it names, by hash: those inside of others too. */
  readonly parts: ReadonlyMap<string, JsonValue>
}

/** Parts of fewer characters stand where they are. */
const small = 200

export function shareParts(body: JsonValue, hashOf: (text: string) => string): Shared {
  const sharing = new Sharing(hashOf)
  return { body: sharing.visit(body, true), parts: sharing.parts }
}

const noParts: ReadonlyMap<string, JsonValue> = new Map()

/** Copies only what changes: a body without large parts stays as it is. */
class Sharing {
  readonly #hashOf: (text: string) => string
  #parts: Map<string, JsonValue> | null = null
  /** About the characters of the value that was visited last. */
  #size = 0

  constructor(hashOf: (text: string) => string) {
    this.#hashOf = hashOf
  }

  get parts(): ReadonlyMap<string, JsonValue> {
    return this.#parts ?? noParts
  }

  visit(value: JsonValue, isRoot: boolean): JsonValue {
    if (typeof value === "string") {
      this.#size = value.length + 2
      return value.length < small ? value : this.#name(value)
    }
    this.#size = 5
    if (typeof value !== "object" || value === null) return value
    const whole = Array.isArray(value) ? this.#items(value) : this.#fields(value)
    // An object that looks like a reference is stored as a part, so that it is not taken for one.
    if (Object.hasOwn(value, reference)) return this.#name(whole)
    return isRoot || this.#size < small ? whole : this.#name(whole)
  }

  #items(items: readonly JsonValue[]): JsonValue {
    let size = 2
    let copy: JsonValue[] | null = null
    for (let index = 0; index < items.length; index++) {
      const part = items[index] ?? null
      const shared = this.visit(part, false)
      size += this.#size + 4
      if (shared !== part) (copy ??= [...items])[index] = shared
    }
    this.#size = size
    return copy ?? (items as JsonValue)
  }

  #fields(fields: JsonObject): JsonValue {
    let size = 2
    let copy: Record<string, JsonValue> | null = null
    for (const key in fields) {
      const part = fields[key] ?? null
      const shared = this.visit(part, false)
      size += key.length + this.#size + 4
      if (shared !== part) (copy ??= { ...fields })[key] = shared
    }
    this.#size = size
    return copy ?? fields
  }

  #name(value: JsonValue): JsonValue {
    const hash = this.#hashOf(JSON.stringify(value))
    this.#parts ??= new Map()
    this.#parts.set(hash, value)
    this.#size = hash.length + reference.length + 7
    return { [reference]: hash }
  }
}

/** The body as it was. `undefined` where a part is missing. */
export function joinParts(body: JsonValue, parts: ReadonlyMap<string, JsonValue>): JsonValue | undefined {
  let isWhole = true
  const walk = (value: JsonValue, isPart: boolean): JsonValue => {
    if (typeof value !== "object" || value === null) return value
    if (Array.isArray(value)) return value.map((one) => walk(one, false))
    const hash = value[reference]
    if (!isPart && typeof hash === "string") {
      const part = parts.get(hash)
      if (part === undefined) isWhole = false
      return part === undefined ? null : walk(part, true)
    }
    return objectOf(Object.entries(value).map(([key, one]) => [key, walk(one, false)]))
  }
  const joined = walk(body, false)
  return isWhole ? joined : undefined
}
