import type { JsonValue } from "../base/json-value.ts"

// The requests of a run's model calls and tool calls, as they went over the wire, beside the events that tell of the calls. Turns of a conversation repeat
// what was said before: a large part is stored once for a run, and named by its hash wherever else it stands.

/** A request as an event keeps it. */
export interface KeptRequest {
  readonly call_id: string
  readonly method: string
  readonly url: string
  /** Keys and what the workflow sets are names of variables: `$KEY`. */
  readonly headers: Readonly<Record<string, string>>
  /** The body, with `{ "$part": hash }` in place of what is stored as a part; null where it is not kept. */
  readonly body: JsonValue
  /** The body is a text of its own, and not JSON as this service would write it. */
  readonly isText?: true
  /** Of the body as it was sent. */
  readonly bytes: number
  /** SHA-256, in hex, of the body as it is shown; null where it is not kept. */
  readonly sha256: string | null
  /** Secrets were replaced in it: what was sent differs. */
  readonly redacted?: true
}

/** What one event keeps: requests, and the parts that no event before has. */
export interface KeptRequests {
  readonly requests: readonly KeptRequest[]
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
  const parts = new Map<string, JsonValue>()
  const name = (value: JsonValue): { readonly value: JsonValue; readonly size: number } => {
    const hash = hashOf(JSON.stringify(value))
    parts.set(hash, value)
    return { value: { [reference]: hash }, size: hash.length + reference.length + 7 }
  }
  const walk = (value: JsonValue, isRoot: boolean): { readonly value: JsonValue; readonly size: number } => {
    if (typeof value === "string") return value.length < small ? { value, size: value.length + 2 } : name(value)
    if (typeof value !== "object" || value === null) return { value, size: 5 }
    let size = 2
    const one = (key: string, part: JsonValue): JsonValue => {
      const shared = walk(part, false)
      size += key.length + shared.size + 4
      return shared.value
    }
    const whole: JsonValue = Array.isArray(value)
      ? value.map((part) => one("", part))
      : Object.fromEntries(Object.entries(value).map(([key, part]) => [key, one(key, part)]))
    // An object that looks like a reference is stored as a part, so that it is not taken for one.
    if (Object.hasOwn(value, reference)) return name(whole)
    return isRoot || size < small ? { value: whole, size } : name(whole)
  }
  return { body: walk(body, true).value, parts }
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
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, walk(one, false)]))
  }
  const joined = walk(body, false)
  return isWhole ? joined : undefined
}
