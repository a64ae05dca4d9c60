import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { McpHttpHandler } from "@modelcontextprotocol/server"
import { answerDemoAudio, isDemoAudio, type DemoAudioReply } from "./demo-audio.ts"
import { answerCrm, crmPath } from "./demo-crm.ts"
import type { DemoReply } from "./demo-reply.ts"
import { demoBatchPath } from "./demo-batches.ts"
import { answerDemo, createDemoModel, demoRoute, errorReply, type DemoOptions } from "./handle-demo.ts"

export interface DemoServer {
  readonly port: number
  /** `http://127.0.0.1:PORT/demo/v1`, what a provider's `endpoint` takes. */
  readonly endpoint: string
  /** `http://127.0.0.1:PORT/demo/mcp`, what that of an MCP server takes. */
  readonly library: string
  /** `http://127.0.0.1:PORT/demo/crm`, what that of an api takes. */
  readonly crm: string
  close(): Promise<void>
}

const largestBody = 64 * 1024 * 1024
const largestBatch = 256 * 1024 * 1024

/** The demo model and its library on a server of their own, on the loopback address and an ephemeral port. */
export async function startDemoServer(options: DemoOptions = {}): Promise<DemoServer> {
  const model = createDemoModel(options)
  let library: Promise<McpHttpHandler> | undefined
  // Longer than any client of ours keeps an idle connection: a server that closes first may close under a request that is on its way.
  const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
    answerOne(request, response).catch(() => response.destroy())
  })

  async function answerOne(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "").split("?")[0]
    const isCrm = path === crmPath || path?.startsWith(`${crmPath}/`) === true
    const batchPath = demoBatchPath(request.url ?? "")
    const isAudio = isDemoAudio(path ?? "")
    const refusal = batchPath !== null || path === "/demo/mcp" || isCrm || isAudio ? null : refusalOf(request)
    if (refusal !== null) return send(response, refusal)
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > (batchPath === null ? largestBody : largestBatch))
        return send(response, errorReply(apiError(413, "The body is too large.")))
      chunks.push(chunk)
    }
    const sent = Buffer.concat(chunks)
    if (isAudio) return send(response, await answerDemoAudio(path ?? "", request.headers["content-type"] ?? "", sent))
    const body = sent.toString("utf8")
    if (batchPath !== null) {
      const { method = "GET", url = "" } = request
      const query = new URLSearchParams(url.split("?")[1] ?? "")
      return send(response, await model.batch({ method, path: batchPath, query, body }))
    }
    if (isCrm) return answerCrm(request, body, response)
    const route = demoRoute(request.url ?? "")
    if (route !== null) return answerDemo(model, route, { headers: request.headers, body }, response)
    // The protocol's SDK is slow to load: it is loaded at the first call.
    library ??= import("./demo-library.ts").then(({ createDemoLibrary }) => createDemoLibrary())
    const { fetch } = await library
    return answerByFetch(fetch, request, body, response)
  }

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    // Exclusive: where several processes share their ports, each has a demo model of its own.
    server.listen({ port: 0, host: "127.0.0.1", exclusive: true }, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    endpoint: `http://127.0.0.1:${port}/demo/v1`,
    library: `http://127.0.0.1:${port}/demo/mcp`,
    crm: `http://127.0.0.1:${port}${crmPath}`,
    async close() {
      await (await library)?.close()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    },
  }
}

/** Answers a request of `node:http` with what a handler in the shape of `fetch` makes of it. */
async function answerByFetch(
  handle: (request: Request) => Promise<Response>,
  request: IncomingMessage,
  body: string,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  response.on("close", () => gone.abort())
  const { method = "GET", headers, url = "/" } = request
  const answer = await handle(
    new Request(`http://${headers.host ?? "localhost"}${url}`, {
      method,
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
      signal: gone.signal,
      ...(method === "POST" && { body }),
    }),
  )
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  for await (const chunk of answer.body ?? []) response.write(chunk)
  response.end()
}

function refusalOf(request: IncomingMessage): DemoReply | null {
  const route = demoRoute(request.url ?? "")
  if (route === null) return errorReply(apiError(404, "There is nothing here."))
  if (request.method === "POST") return null
  return errorReply(apiError(405, "Only POST is answered here."), route.api, { allow: "POST" })
}

function apiError(status: number, message: string): Parameters<typeof errorReply>[0] {
  return { status, message, type: "invalid_request_error", param: null, code: null }
}

function send(response: ServerResponse, reply: DemoReply | DemoAudioReply): void {
  response.writeHead(reply.status, reply.headers)
  response.end(typeof reply.body === "string" || reply.body instanceof Uint8Array ? reply.body : "")
}
