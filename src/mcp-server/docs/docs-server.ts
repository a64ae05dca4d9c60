import type { CallToolResult, McpServerFactory } from "@modelcontextprotocol/server"
import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject } from "../../base/json-value.ts"
import { docsTools, Refusal, type DocsParts } from "./docs-tools.ts"

/** An MCP server for coding agents: the checker, the formatter and the documentation as tools. It calls nobody. */
export function docsServer(parts: DocsParts, version: string): McpServerFactory {
  return () => {
    const tools = docsTools(parts)
    const server = new Server({ name: "wireworks-docs", version }, { capabilities: { tools: {} } })
    server.setRequestHandler("tools/list", () => ({
      tools: Object.entries(tools).map(([name, { description, properties, required = [] }]) => ({
        name,
        description,
        inputSchema: { type: "object" as const, properties, required: [...required] },
      })),
    }))
    server.setRequestHandler("tools/call", ({ params }) => {
      const tool = Object.hasOwn(tools, params.name) ? tools[params.name] : undefined
      if (tool === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name}`)
      return resultOf(() => tool.call(isJsonObject(params.arguments) ? params.arguments : {}))
    })
    return server
  }
}

function resultOf(call: () => JsonObject | string): CallToolResult {
  try {
    const value = call()
    if (typeof value === "string") return { content: [{ type: "text", text: value }] }
    return { content: [{ type: "text", text: JSON.stringify(value, null, 2) }], structuredContent: value }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { content: [{ type: "text", text: error.message }], isError: true }
  }
}
