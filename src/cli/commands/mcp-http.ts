import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { McpServerFactory } from "@modelcontextprotocol/server"
import { checkBrowser } from "../../server/browser-rules.ts"
import { Callers } from "../../server/callers.ts"
import { HttpError } from "../../server/http-error.ts"
import type { Settings } from "../compose/settings.ts"

export interface McpService {
  readonly address: string
  /** Keys are asked for. */
  readonly keyed: boolean
  close(): Promise<void>
}

/** An MCP server over streamable HTTP, under the same rules for callers and browsers as the service. */
export async function listenForMcp(
  factory: McpServerFactory,
  settings: Settings,
  bug: (error: unknown) => void,
): Promise<McpService> {
  const { answerWith } = await import("../../mcp-server/node-handler.ts")
  const { createMcpHandler } = await import("@modelcontextprotocol/server")
  const handler = createMcpHandler(factory, { maxRequestBodySize: settings.maxBody })
  const callers = new Callers(settings.apiKeys ?? [])
  const http = createServer((request, response) => {
    const refusal = refusalOf(request, callers, settings)
    if (refusal !== null) {
      refuse(response, refusal)
      return
    }
    answerWith(handler, request, response, { maxBody: settings.maxBody }).catch((error: unknown) => {
      bug(error)
      response.destroy()
    })
  })
  const port = await listen(http, settings)
  const host = settings.host.includes(":") ? `[${settings.host}]` : settings.host
  return {
    address: `http://${host}:${port}/mcp`,
    keyed: callers.required,
    async close() {
      await handler.close()
      http.close()
      http.closeAllConnections()
    },
  }
}

function listen(http: Server, { host, port }: Settings): Promise<number> {
  return new Promise((resolve, reject) => {
    http.once("error", reject)
    http.listen(port, host, () => resolve((http.address() as AddressInfo).port))
  })
}

/** Rejects unauthorized callers and origins. */
function refusalOf(request: IncomingMessage, callers: Callers, settings: Settings): HttpError | null {
  try {
    if (callers.required) callers.find(request.headers.authorization)
    else {
      const { allowedHosts, allowedOrigins } = settings
      checkBrowser(request.headers, { allowedHosts, allowedOrigins }, false)
    }
    return null
  } catch (error) {
    if (error instanceof HttpError) return error
    throw error
  }
}

function refuse(response: ServerResponse, refusal: HttpError): void {
  response.writeHead(refusal.status, { "content-type": "application/json", ...refusal.headers })
  response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32_000, message: refusal.message } }))
}
