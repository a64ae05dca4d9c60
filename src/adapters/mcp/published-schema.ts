import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { cleanText } from "./clean-text.ts"
import { isDeeper } from "../../base/bounded-json.ts"
import { SchemaIndex } from "../../base/schema-index.ts"
import { innerSchemas, rewriteSchema } from "../../base/walk-schema.ts"
import { mcpPartDescription, mcpSchemaBytes, mcpSchemaLevels } from "../../base/limits.ts"

export type PublishedSchema =
  | { readonly ok: true; readonly schema: JsonObject }
  /** The end of a sentence that begins with "Its input schema". `limit`: it is larger than any schema may be. */
  | { readonly ok: false; readonly problem: string; readonly limit: boolean }

/** A schema that a server publishes, fit for a model's eyes; or why it cannot be used. */
export function publishedSchema(value: JsonValue | undefined): PublishedSchema {
  if (!isJsonObject(value)) return { ok: false, problem: "is not a JSON object", limit: false }
  if (isDeeper(value, mcpSchemaLevels)) {
    return { ok: false, problem: `is nested more than ${mcpSchemaLevels} levels deep`, limit: true }
  }
  if (Buffer.byteLength(JSON.stringify(value)) > mcpSchemaBytes) {
    return { ok: false, problem: `is larger than ${mcpSchemaBytes} bytes`, limit: true }
  }
  const bad = badReference(value)
  if (bad !== undefined) return { ok: false, problem: bad, limit: false }
  return { ok: true, schema: rewriteSchema(value, cleanTexts) }
}

function cleanTexts(schema: JsonObject): JsonObject {
  const { $comment: _, ...rest } = schema
  for (const key of ["title", "description"]) {
    const text = rest[key]
    if (typeof text === "string") rest[key] = cleanText(text, mcpPartDescription)
  }
  return rest
}

function badReference(root: JsonObject): string | undefined {
  const index = new SchemaIndex(root)
  const open = [root]
  for (let schema = open.pop(); schema !== undefined; schema = open.pop()) {
    for (const key of ["$ref", "$dynamicRef", "$recursiveRef"]) {
      const reference = schema[key]
      if (typeof reference !== "string") continue
      if (!reference.startsWith("#")) return `refers to ${cleanText(reference, 200)}, and references are never fetched`
      if (key === "$ref" && index.resolve(reference) === undefined) {
        return `refers to ${cleanText(reference, 200)}, which is not in it`
      }
    }
    for (const inner of innerSchemas(schema).toReversed()) open.push(inner.schema)
  }
  return undefined
}
