import type { FastifyInstance } from "fastify"
import { fastify } from "fastify"

export interface ServerOptions {
  readonly maxBody: number
}

export interface Server {
  readonly app: FastifyInstance
  /** Readiness goes off; requests are still answered. */
  readonly drain: () => void
}

/** The HTTP service, not yet listening. */
export function createServer(options: ServerOptions): Server {
  const app = fastify({ bodyLimit: options.maxBody, forceCloseConnections: true })
  let draining = false

  app.get("/healthz", () => ({ status: "ok" }))
  app.get("/readyz", (_request, reply) => {
    if (draining) void reply.code(503).header("retry-after", "5")
    return { status: draining ? "draining" : "ready" }
  })
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send({
      error: { kind: "not_found", message: `There is no route ${request.method} ${request.url}`, issues: [] },
    }),
  )
  return {
    app,
    drain() {
      draining = true
    },
  }
}
