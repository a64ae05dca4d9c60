// The client that the conformance suite tests: workflows that use whatever the server offers, run by the engine. The suite
// starts it with the server's address as its argument, and may have calls for it in the environment.

import { inspectServer } from "../../src/adapters/mcp/inspect-server.ts"
import type { ServerContents } from "../../src/adapters/mcp/inspect-server.ts"
import { usualMcpLimits } from "../../src/adapters/mcp/mcp-host.ts"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { hosting } from "../support/run-source.ts"

interface Call {
  readonly name: string
  readonly arguments: JsonObject
}

const [url = ""] = process.argv.slice(2)
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as { readonly toolCalls?: readonly Call[] }

const here = hosting()
const signal = new AbortController().signal
const server = { name: "s", endpoint: url, headers: {} }

const options = { egress: here.egress, version: "0.0.0", limits: usualMcpLimits }
for (const use of usesOf(await inspectServer(server, options, signal))) {
  const outcome = await here.run(`mcp s { endpoint: "${url}" }\n${use}`)
  const last = outcome.events.at(-1)
  const failed = last?.type === "workflow_failed" ? last.data.error : null
  // A tool that must not be called, or not with these arguments, is refused before anything is sent.
  if (failed === null || failed.kind === "validation_error" || failed.kind === "evaluation_error") continue
  console.error(JSON.stringify(failed))
  process.exitCode = 1
}
await here.close()

function usesOf({ tools, resources, prompts }: ServerContents): string[] {
  const calls = context.toolCalls ?? tools.flatMap(({ name, input }) => callOf(name, input, tools))
  return [
    ...calls.map(({ name, arguments: values }) =>
      workflow(`tool t from mcp.s.tool.${quoted(name)}`, `call tool.t { input { ${fields(values)} } }`),
    ),
    ...resources.map(({ uri }) => workflow(`resource r from mcp.s.resource.${quoted(uri)}`, "read resource.r")),
    ...prompts.map(({ name }) => workflow(`prompt p from mcp.s.prompt.${quoted(name)}`, "render prompt.p")),
  ]
}

function callOf(name: string, input: JsonObject, tools: ServerContents["tools"]): Call[] {
  if (name === "add_numbers") return [{ name, arguments: { a: 5, b: 3 } }]
  if (name === "json_schema_echo") {
    const focal = tools.find((tool) => tool.name === "json_schema_2020_12_tool")
    return [{ name, arguments: { schema: focal?.input ?? {} } }]
  }
  const required = Array.isArray(input["required"]) ? input["required"] : []
  return [{ name, arguments: Object.fromEntries(required.map((key) => [typeof key === "string" ? key : "", "x"])) }]
}

function workflow(declaration: string, expression: string): string {
  return `${declaration}\ndynamic { used: ${expression} }\noutput { used: dynamic.used }\n`
}

function fields(values: JsonObject): string {
  return Object.entries(values)
    .map(([key, value]) => `${quoted(key)}: ${literal(value)}`)
    .join(", ")
}

function literal(value: JsonValue): string {
  if (typeof value === "string") return quoted(value)
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  return Array.isArray(value) ? `[${value.map(literal).join(", ")}]` : `{ ${fields(value)} }`
}

function quoted(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1)
  return `"${escaped
    .replaceAll(/\\u([0-9a-f]{4})/g, "\\u{$1}")
    .replaceAll("{", "\\{")
    .replaceAll("}", "\\}")}"`
}
