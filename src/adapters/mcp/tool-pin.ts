import { createHash } from "node:crypto"
import { canonicalJson } from "../../base/canonical-json.ts"
import type { JsonObject } from "../../base/json-value.ts"

/**
 * The hash of a tool's definition as its server publishes it: name, title, descriptions, schemas, annotations, in whatever
 * order its keys come. `_meta` is left out: it may be another one with each answer.
 */
export function toolPin(definition: JsonObject): string {
  return `sha256:${createHash("sha256")
    .update(canonicalJson(publishedPart(definition)))
    .digest("hex")}`
}

export function publishedPart(definition: JsonObject): JsonObject {
  const { _meta: _, ...published } = definition
  return published
}
