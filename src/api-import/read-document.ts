import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { importBytes } from "../base/limits.ts"

export type ReadDocument = { readonly document: JsonObject } | { readonly problem: string }

/** The document that a text is: JSON, or YAML. */
export async function readDocument(bytes: Uint8Array): Promise<ReadDocument> {
  if (bytes.length > importBytes) {
    const mib = importBytes / 1024 / 1024
    return { problem: `The document has more than ${mib} MiB: cut it down to the operations that you need.` }
  }
  const text = new TextDecoder().decode(bytes)
  const parsed = await parse(text)
  if ("problem" in parsed) return parsed
  const { value } = parsed
  if (!isJsonObject(value)) return { problem: "The file is neither JSON nor YAML with an object at its top." }
  const version = value["openapi"]
  if (typeof value["swagger"] === "string") {
    return {
      problem: "The document is Swagger 2.0: convert it to OpenAPI 3 first (for instance with swagger2openapi).",
    }
  }
  if (typeof version !== "string" || !/^3\.[01](?:\.|$)/.test(version)) {
    return { problem: "The document is not OpenAPI 3.0 or 3.1: `openapi` must say so." }
  }
  return { document: value }
}

async function parse(text: string): Promise<{ readonly value: JsonValue } | { readonly problem: string }> {
  try {
    return { value: JSON.parse(text) as JsonValue }
  } catch {
    // YAML has JSON in it, and its errors say where.
  }
  if (isTooDeep(text)) return { problem: "The file is not usable YAML: it nests too deep." }
  const { parseYaml } = await import("./parse-yaml.ts")
  const parsed = parseYaml(text)
  return "problem" in parsed
    ? { problem: `The file is neither valid JSON nor valid YAML: ${parsed.problem}.` }
    : { value: parsed.value as JsonValue }
}

const deepest = 500

/** Nesting that nobody writes by hand, by brackets or by indentation: a parser would take its time with it. */
function isTooDeep(text: string): boolean {
  let open = 0
  let column = 0
  for (const character of text) {
    if (character === "\n") column = 0
    else if (character === " " && column >= 0) column++
    else column = -1
    if (column > 4 * deepest) return true
    if (character === "[" || character === "{") open++
    else if (character === "]" || character === "}") open = Math.max(0, open - 1)
    if (open > deepest) return true
  }
  return false
}
