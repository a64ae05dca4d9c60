import assert from "node:assert/strict"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import type { Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import { setTimeout } from "node:timers/promises"
import type { FastifyInstance } from "fastify"
import { gone, open, readAnswers } from "../../support/raw-http.ts"
import { within } from "../../support/within.ts"
import { ada, hello, startService, untilMetric } from "./start-service.ts"
import { atStrength } from "../../support/strength.ts"

// Clients that send or read slowly, on every route that the service has: a route that is added later is tried, too.

interface Route {
  readonly method: string
  readonly path: string
}

/**
 * Collects the routes of the service that is started meanwhile, from the router itself. Services of other files that share the process
 * may start at the same time: each route is there once.
 */
async function routesOf<T>(
  start: () => Promise<T>,
): Promise<{ readonly started: T; readonly routes: readonly Route[] }> {
  const routes = new Map<string, Route>()
  const watch = (message: unknown): void => {
    const { fastify } = message as { readonly fastify: FastifyInstance }
    fastify.addHook("onRoute", ({ method, url }) => {
      for (const one of [method].flat()) routes.set(`${one} ${url}`, { method: one, path: url })
    })
  }
  subscribe("fastify.initialization", watch)
  try {
    const started = await start()
    return { started, routes: [...routes.values()] }
  } finally {
    unsubscribe("fastify.initialization", watch)
  }
}

/** Tells when the server on a port has read the head of a first request from a connection, which its client's port names. */
function arrivals(port: number): { from(clientPort: number): Promise<void>; stop(): void } {
  const first = new Map<number, PromiseWithResolvers<void>>()
  const of = (clientPort: number): PromiseWithResolvers<void> => {
    const known = first.get(clientPort) ?? Promise.withResolvers<void>()
    first.set(clientPort, known)
    return known
  }
  const watch = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket }
    if (socket.localPort === port && socket.remotePort !== undefined) of(socket.remotePort).resolve()
  }
  subscribe("http.server.request.start", watch)
  return {
    from: (clientPort) => of(clientPort).promise,
    stop: () => unsubscribe("http.server.request.start", watch),
  }
}

const folder = mkdtempSync(join(tmpdir(), "wireworks-slow-"))
after(() => rmSync(folder, { recursive: true }))
writeFileSync(join(folder, "greet.wire"), hello)

describe("slow clients", async () => {
  const settings = { MAX_BODY: "1mb", WORKFLOWS: folder, API_KEYS: "ann:ann-key,bob:bob-key" }
  const { started: service, routes } = await routesOf(() => startService(settings, { requestTimeoutMs: 2_000 }))
  const run = await service.post(
    "/execute",
    { workflow_source: hello, input: ada },
    { authorization: "Bearer ann-key" },
  )
  const run_id = run.headers.get("x-service-run-id") ?? ""

  const headOf = ({ method, path }: Route, more: readonly string[]): string => {
    const url = path
      .replace(":run_id", run_id)
      .replace(/:\w+/g, "x")
      .replace("*", path.startsWith("/workflows") ? "greet" : "main.js")
    const lines = ["Host: x", "Authorization: Bearer ann-key", "Accept: application/json, text/event-stream", ...more]
    return `${method} ${url} HTTP/1.1\r\n${lines.join("\r\n")}\r\n`
  }
  /** Sends a byte now and then until the connection is closed. */
  const trickle = (socket: Socket, text: () => string): void => {
    const timer = setInterval(() => socket.write(text()), 200)
    socket.once("close", () => clearInterval(timer))
  }
  const isFine = async (): Promise<void> => {
    const body = { workflow_source: hello, input: ada }
    for (const key of ["ann-key", "bob-key"]) {
      assert.equal((await service.post("/execute", body, { authorization: `Bearer ${key}` })).status, 200)
    }
  }

  it("there are routes to try", () => {
    const known = new Set(routes.map(({ method, path }) => `${method} ${path}`))
    for (const one of [
      "POST /execute",
      "GET /execute/:run_id/events",
      "POST /mcp",
      "GET /metrics",
      "GET /openapi.json",
    ]) {
      assert.ok(known.has(one), one)
    }
  })

  it("that send a head without an end are refused and closed", async () => {
    const refused = routes.map(async (route) => {
      const socket = await open(service.port)
      socket.write(headOf(route, []))
      trickle(socket, () => "x")
      const { answers } = await within(30_000, `the refusal of ${route.path}`, readAnswers(socket, 1))
      assert.equal(answers[0]?.status, 400, `${route.method} ${route.path}`)
      await within(30_000, `the end of ${route.path}`, gone(socket))
      socket.destroy()
    })
    await Promise.all([...refused, isFine()])
  })

  it("that send a body without an end are answered or refused, and closed", async () => {
    const kinds = [
      ["Content-Length: 900000", " "],
      ["Transfer-Encoding: chunked", "1\r\n \r\n"],
    ] as const
    // A file may take as long as it likes, as long as something of it comes.
    const isFile = ({ method, path }: Route): boolean => method === "POST" && ["/files", "/v1/files"].includes(path)
    const ended = routes.flatMap((route) =>
      kinds.map(async ([framing, piece]) => {
        const socket = await open(service.port)
        socket.write(`${headOf(route, ["Content-Type: application/json", framing])}\r\n`)
        if (!isFile(route)) trickle(socket, () => piece)
        socket.resume()
        await within(30_000, `the end of ${route.method} ${route.path}`, gone(socket))
        socket.destroy()
      }),
    )
    await Promise.all([...ended, isFine()])
  })

  it("that send a file byte by byte are waited for", async () => {
    const socket = await open(service.port)
    const route = { method: "POST", path: "/files" }
    socket.write(`${headOf(route, ["Content-Type: text/plain", "Transfer-Encoding: chunked"])}\r\n`)
    // Longer than another request may take.
    for (let n = 0; n < 14; n++) {
      socket.write("1\r\nx\r\n")
      await setTimeout(300)
    }
    const answered = readAnswers(socket, 1)
    socket.write("0\r\n\r\n")
    const { answers } = await within(30_000, "the answer", answered)
    assert.equal(answers[0]?.status, 201)
    socket.destroy()
  })

  it("that ask again and again, read nothing and go away leave nothing behind", async () => {
    const body = JSON.stringify({ workflow_source: hello, input: ada })
    const arrived = arrivals(service.port)
    const sockets = await Promise.all(
      routes.flatMap((route) =>
        Array.from({ length: atStrength(2, 3) }, async () => {
          const socket = await open(service.port)
          socket.pause()
          const hasBody = route.method === "POST"
          const head = headOf(
            route,
            hasBody ? ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`] : [],
          )
          socket.write(`${head}\r\n${hasBody ? body : ""}`.repeat(atStrength(10, 50)))
          return socket
        }),
      ),
    )
    await isFine()
    // A connection that is reset before its first request is read would prove nothing.
    for (const { localPort = 0 } of sockets) await within(30_000, "a request of each", arrived.from(localPort))
    arrived.stop()
    for (const socket of sockets) socket.resetAndDestroy()
    const asAnn = { get: (path: string) => service.get(path, { authorization: "Bearer ann-key" }) }
    await untilMetric(asAnn, "wire_runs_active", 0)
    await untilMetric(asAnn, "wire_streams_open", 0)
    await isFine()
  })
})
