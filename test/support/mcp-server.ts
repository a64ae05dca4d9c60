import type { IncomingMessage, ServerResponse } from "node:http"
import type { CreateMcpHandlerOptions, McpHttpHandler, McpServerFactory } from "@modelcontextprotocol/server"
import { createMcpHandler } from "@modelcontextprotocol/server"
import type { Received, TestServer } from "./http-server.ts"
import { startServer } from "./http-server.ts"

export interface RealMcpServer extends TestServer {
  readonly url: string
  readonly handler: McpHttpHandler
}

/** A server on the protocol's own SDK: of the newest era and, by default, of the older ones too. */
export async function startMcpServer(
  factory: McpServerFactory,
  options: CreateMcpHandlerOptions & { readonly refuse?: (request: Received) => number | null } = {},
  port = 0,
): Promise<RealMcpServer> {
  const handler = createMcpHandler(factory, { keepAliveMs: 0, ...options })
  const server = await startServer(
    (request, response, raw) => {
      const status = options.refuse?.(request) ?? null
      if (status !== null) {
        response.writeHead(status).end()
        return
      }
      void answer(handler, request, response, raw)
    },
    undefined,
    port,
  )
  return {
    ...server,
    url: `${server.origin}/mcp`,
    handler,
    async close() {
      await handler.close()
      await server.close()
    },
  }
}

async function answer(
  handler: McpHttpHandler,
  { method, url, headers, body }: Received,
  response: ServerResponse,
  raw: IncomingMessage,
): Promise<void> {
  const gone = new AbortController()
  response.on("close", () => gone.abort())
  const request = new Request(`http://${headers.host ?? "localhost"}${url}`, {
    method,
    headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
    signal: gone.signal,
    ...(method === "POST" ? { body } : {}),
  })
  const answered = await handler.fetch(request)
  response.writeHead(answered.status, Object.fromEntries(answered.headers))
  response.flushHeaders()
  try {
    for await (const chunk of answered.body ?? []) response.write(chunk)
  } catch {
    raw.destroy()
  }
  response.end()
}

/** A JSON-RPC request as it came. */
export interface RawRequest {
  readonly id: string | number
  readonly method: string
  readonly params: Record<string, unknown>
  readonly headers: Received["headers"]
}

type RawAnswer = (request: RawRequest, response: ServerResponse) => unknown

/**
 * A server that answers with whatever bytes the test wants. `answers` has a function for each method; those of the newest
 * era's beginning are there already.
 */
export async function startRawServer(
  answers: Readonly<Record<string, RawAnswer>>,
): Promise<TestServer & { url: string }> {
  const usual: Record<string, RawAnswer> = {
    "server/discover": ({ id }, response) =>
      sendResult(response, id, {
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: {}, resources: {}, prompts: {} },
      }),
  }
  const server = await startServer((request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end()
    const message = JSON.parse(request.body) as {
      id?: string | number
      method: string
      params?: Record<string, unknown>
    }
    const { id, method, params = {} } = message
    const handle = answers[method] ?? usual[method]
    if (id === undefined) return response.writeHead(202).end()
    if (handle === undefined) return sendError(response, id, -32_601, `No ${method}`)
    return handle({ id, method, params, headers: request.headers }, response)
  })
  return { ...server, url: `${server.origin}/mcp` }
}

export function sendJson(response: ServerResponse, message: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(message))
}

export function sendResult(response: ServerResponse, id: string | number, result: Record<string, unknown>): void {
  sendJson(response, { jsonrpc: "2.0", id, result: { resultType: "complete", ...result } })
}

export function sendError(response: ServerResponse, id: string | number, code: number, message: string): void {
  sendJson(response, { jsonrpc: "2.0", id, error: { code, message } })
}
