import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject } from "../../base/json-value.ts"
import { innerSchemas } from "../../base/walk-schema.ts"

const annotation = "x-mcp-header"

/**
 * What is wrong with the arguments that a tool wants repeated in headers (the newest revision of the protocol): only those
 * of a simple type, reached through properties alone, under names that a header may have, each once. A tool that breaks
 * these rules must not be called. The end of a sentence that begins with "Its input schema".
 */
export function badMirrors(schema: JsonObject): string | undefined {
  const names = new Set<string>()
  const visit = (at: JsonObject, reachable: boolean, top: boolean): string | undefined => {
    if (Object.hasOwn(at, annotation)) {
      const name = at[annotation]
      if (!reachable || top) return `has an ${annotation} at a place where it is not allowed`
      if (typeof name !== "string" || !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) {
        return `has an ${annotation} that is not a header name`
      }
      const { type } = at
      if (type !== "string" && type !== "integer" && type !== "boolean") {
        return `has an ${annotation} on an argument that is not a string, integer or boolean`
      }
      if (names.has(name.toLowerCase())) return `has the ${annotation} ${name} twice`
      names.add(name.toLowerCase())
    }
    for (const inner of innerSchemas(at)) {
      const bad = visit(inner.schema, reachable && inner.key === "properties", false)
      if (bad !== undefined) return bad
    }
    return undefined
  }
  return isJsonObject(schema) ? visit(schema, true, true) : undefined
}
