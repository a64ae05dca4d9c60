import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { cleanText } from "./clean-text.ts"
import { isDeeper } from "./is-deeper.ts"
import { innerSchemas, isObject, resolveLocal, rewriteSchema } from "./walk-schema.ts"

// Schemas come from strangers: nothing in them is fetched, none is larger or deeper than people write.
const mostBytes = 256 * 1024
const deepest = 64
const longestDescription = 2000

export type PublishedSchema =
  | { readonly ok: true; readonly schema: JsonObject }
  /** The end of a sentence that begins with "Its input schema". */
  | { readonly ok: false; readonly problem: string }

/** A schema that a server publishes, fit for a model's eyes; or why it cannot be used. */
export function publishedSchema(value: JsonValue | undefined): PublishedSchema {
  if (!isObject(value)) return { ok: false, problem: "is not a JSON object" }
  if (isDeeper(value, deepest)) return { ok: false, problem: `is nested more than ${deepest} levels deep` }
  if (JSON.stringify(value).length > mostBytes) return { ok: false, problem: `is larger than ${mostBytes} bytes` }
  const bad = badReference(value, value)
  if (bad !== undefined) return { ok: false, problem: bad }
  return { ok: true, schema: rewriteSchema(value, cleanTexts) }
}

function cleanTexts(schema: JsonObject): JsonObject {
  const { $comment: _, ...rest } = schema
  for (const key of ["title", "description"]) {
    const text = rest[key]
    if (typeof text === "string") rest[key] = cleanText(text, longestDescription)
  }
  return rest
}

function badReference(schema: JsonObject, root: JsonObject): string | undefined {
  for (const key of ["$ref", "$dynamicRef", "$recursiveRef"]) {
    const reference = schema[key]
    if (typeof reference !== "string") continue
    if (!reference.startsWith("#")) return `refers to ${cleanText(reference, 200)}, and references are never fetched`
    if (key === "$ref" && resolveLocal(root, reference) === undefined) {
      return `refers to ${cleanText(reference, 200)}, which is not in it`
    }
  }
  for (const inner of innerSchemas(schema)) {
    const bad = badReference(inner.schema, root)
    if (bad !== undefined) return bad
  }
  return undefined
}
