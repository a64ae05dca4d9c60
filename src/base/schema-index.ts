import { isJsonObject } from "./is-json-object.ts"
import type { JsonObject, JsonValue } from "./json-value.ts"
import { innerSchemas, unescape } from "./walk-schema.ts"

/** What the references of one schema stand for. Anchors are found in one walk, each reference is resolved once. */
export class SchemaIndex {
  readonly #root: JsonObject
  readonly #resolved = new Map<string, JsonValue | undefined>()
  #anchors: ReadonlyMap<string, JsonObject> | null = null

  constructor(root: JsonObject) {
    this.#root = root
  }

  /** The schema that `#/$defs/x`, `#anchor` or `#` refers to; undefined when there is none. */
  resolve(reference: string): JsonValue | undefined {
    if (this.#resolved.has(reference)) return this.#resolved.get(reference)
    const found = this.#find(reference)
    this.#resolved.set(reference, found)
    return found
  }

  #find(reference: string): JsonValue | undefined {
    if (reference === "#") return this.#root
    if (!reference.startsWith("#/")) return (this.#anchors ??= anchorsOf(this.#root)).get(reference.slice(1))
    let at: JsonValue | undefined = this.#root
    for (const part of reference.slice(2).split("/")) {
      const key = unescape(part)
      if (Array.isArray(at)) at = /^\d{1,9}$/.test(key) ? at[Number(key)] : undefined
      else if (isJsonObject(at) && Object.hasOwn(at, key)) at = at[key]
      else return undefined
    }
    return at
  }
}

/** Anchors by name; the first of several with one name. */
function anchorsOf(root: JsonObject): Map<string, JsonObject> {
  const anchors = new Map<string, JsonObject>()
  const open = [root]
  for (let schema = open.pop(); schema !== undefined; schema = open.pop()) {
    for (const key of ["$anchor", "$dynamicAnchor"]) {
      const name = schema[key]
      if (typeof name === "string" && !anchors.has(name)) anchors.set(name, schema)
    }
    for (const inner of innerSchemas(schema).toReversed()) open.push(inner.schema)
  }
  return anchors
}
