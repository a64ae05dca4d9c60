import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { withText } from "./openapi-texts.ts"

/** The groups of operations in the OpenAPI document. */
export const tags: JsonObject[] = [
  { name: "Runs", description: "Start runs, follow them, stop them." },
  { name: "Questions", description: "What runs ask people." },
  { name: "Workflows", description: "The workflows of the server's folder." },
  { name: "Source", description: "What can be said of a workflow without running it." },
  { name: "Operations", description: "Health, metrics and this document." },
  { name: "Demo", description: "The built-in demo model." },
]

function tagOf(path: string): string {
  if (path.includes("/questions")) return "Questions"
  if (path.startsWith("/workflows") || path === "/mcp") return "Workflows"
  if (path.startsWith("/demo")) return "Demo"
  if (path === "/validate" || path === "/format") return "Source"
  return /^\/(?:execute|runs|cache)/.test(path) ? "Runs" : "Operations"
}

/** Every operation has the tag of its path, and says what it does. */
export function describeOperations(paths: JsonValue | undefined): JsonObject {
  const all = isJsonObject(paths) ? Object.entries(paths) : []
  return Object.fromEntries(
    all.map(([path, operations]) => [
      path,
      Object.fromEntries(
        Object.entries(isJsonObject(operations) ? operations : {}).map(([method, operation]) => [
          method,
          isJsonObject(operation) ? withText({ tags: [tagOf(path)], ...operation }) : operation,
        ]),
      ),
    ]),
  )
}
