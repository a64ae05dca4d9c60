import type { IncomingHttpHeaders, ServerResponse } from "node:http"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import type { TestServer } from "./http-server.ts"
import { startServer } from "./http-server.ts"

export interface TinyCall {
  readonly tool: string
  readonly values: JsonObject
  readonly meta: JsonObject
  readonly headers: IncomingHttpHeaders
  readonly response: ServerResponse
  /** The id of the JSON-RPC request, for an answer by hand. */
  readonly id: JsonValue
}

/** A tool's result; undefined when it answers by hand, or never. */
export type TinyTool = (call: TinyCall) => JsonObject | undefined

/**
 * The least that is an MCP server over HTTP: tools alone, one answer a request, everything in the test's hands. `published`
 * goes into the definition of each tool.
 */
export async function tinyMcp(
  tools: Readonly<Record<string, TinyTool>>,
  published: JsonObject = {},
): Promise<TestServer & { readonly url: string }> {
  const server = await startServer((request, response) => {
    const answer = (status: number, body?: JsonObject): void => {
      response.writeHead(status, { "content-type": "application/json" })
      response.end(body === undefined ? undefined : JSON.stringify(body))
    }
    if (request.method !== "POST") return answer(405)
    const { id, method, params } = JSON.parse(request.body) as { id?: JsonValue; method: string; params?: JsonObject }
    const result = (value: JsonObject): void => answer(200, { jsonrpc: "2.0", id: id ?? null, result: value })
    switch (method) {
      case "initialize":
        return result({
          protocolVersion: "2025-06-18",
          capabilities: { tools: {} },
          serverInfo: { name: "tiny", version: "1.0.0" },
        })
      case "tools/list":
        return result({
          tools: Object.keys(tools).map((name) => ({
            name,
            description: name,
            inputSchema: { type: "object" },
            ...published,
          })),
        })
      case "tools/call": {
        const name = params?.["name"] as string
        const values = (params?.["arguments"] ?? {}) as JsonObject
        const meta = (params?.["_meta"] ?? {}) as JsonObject
        const made = tools[name]?.({ tool: name, values, meta, headers: request.headers, response, id: id ?? null })
        return made === undefined ? undefined : result(made)
      }
      default:
        if (id === undefined) return answer(202)
        return answer(method.startsWith("server/") ? 404 : 200, {
          jsonrpc: "2.0",
          id,
          error: { code: -32601, message: "Method not found" },
        })
    }
  })
  return { ...server, url: `${server.origin}/mcp` }
}
