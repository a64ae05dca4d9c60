import { executeOptions } from "../api/execute.ts"
import { referenceTo } from "../base/typed-schema.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import type { NamedWorkflow } from "../workflows/workflow-folder.ts"

/** Paths and schemas of the workflows that serve: each with its typed request and response. `ofAll` is the operation that they all have. */
export function workflowPaths(
  workflows: readonly NamedWorkflow[],
  ofAll: JsonObject,
): { readonly paths: JsonObject; readonly components: JsonObject } {
  const paths: Record<string, JsonValue> = {}
  const components: Record<string, JsonValue> = {}
  const { parameters = [], responses = {} } = ofAll
  const shared = Array.isArray(parameters) ? parameters.filter((one) => isJsonObject(one) && one["in"] !== "path") : []
  for (const { name, serving } of workflows) {
    const types = serving?.described.schemas ?? null
    if (serving === null || types === null) continue
    const prefix = name.replaceAll("/", ".")
    const define = (part: string, schema: JsonObject): JsonObject => {
      const own = `${prefix}.${part}`
      for (const [key, value] of Object.entries(moved(own, schema))) components[key] = value
      return { $ref: `#/components/schemas/${own}` }
    }
    const input = define("input", types.input)
    const secrets = define("secrets", { ...types.secrets, required: [] })
    const output = define("output", types.output)
    const [summary = `Run the workflow ${name}`] = serving.description?.split("\n", 1) ?? []
    paths[`/workflows/${name}/execute`] = {
      post: {
        tags: ofAll["tags"] ?? [],
        operationId: `execute.${prefix}`,
        summary,
        description: serving.description ?? summary,
        parameters: shared,
        requestBody: {
          required: true,
          content: { "application/json": { schema: bodyOf(input, secrets, types.input) } },
        },
        responses: {
          ...(isJsonObject(responses) ? responses : {}),
          "200": {
            description: "The workflow's output, or the stream of its events.",
            headers: { "x-service-run-id": { schema: { type: "string" } } },
            content: {
              "application/json": { schema: output },
              "text/event-stream": { schema: { type: "string" } },
            },
          },
        },
      },
    }
  }
  return { paths, components }
}

function bodyOf(input: JsonObject, secrets: JsonObject, inputSchema: JsonObject): JsonObject {
  const required = inputSchema["required"]
  const needed = Array.isArray(required) && required.length > 0
  return {
    type: "object",
    properties: {
      input,
      secrets,
      version: { type: ["string", "null"] },
      options: { anyOf: [referenceTo(executeOptions), { type: "null" }] },
    },
    ...(needed ? { required: ["input"] } : {}),
    additionalProperties: false,
  }
}

/** A schema and its definitions as components: a reference inside of the document counts from its root. */
function moved(own: string, schema: JsonObject): Record<string, JsonValue> {
  const { $defs, ...root } = schema
  const place = (name: string): string => `${own}.${name.replaceAll(/[^A-Za-z0-9._-]/g, "_")}`
  const rewrite = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return value.map(rewrite)
    if (!isJsonObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => {
        const target = key === "$ref" && typeof inner === "string" ? /^#\/\$defs\/(.+)$/.exec(inner)?.[1] : undefined
        if (key === "$ref" && inner === "#") return [key, `#/components/schemas/${own}`]
        return [
          key,
          target === undefined ? rewrite(inner) : `#/components/schemas/${place(decodeURIComponent(target))}`,
        ]
      }),
    )
  }
  const components: Record<string, JsonValue> = { [own]: rewrite(root) }
  for (const [name, definition] of Object.entries(isJsonObject($defs) ? $defs : {})) {
    components[place(name)] = rewrite(definition)
  }
  return components
}
