import type { ServerResponse } from "node:http"
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import { mcp } from "../../api/operations.ts"
import type { MemoryShare } from "../../run/shares/memory-share.ts"
import { corsOf } from "../cors.ts"
import { asHttpError, internalError } from "../answer-error.ts"
import type { HttpError } from "../http-error.ts"
import type { LargeAnswers } from "../large-answers.ts"
import type { McpRoute } from "../route-dependencies.ts"
import { callerOf, tenantOf } from "../caller-of.ts"

export interface McpRouteParts {
  readonly route: McpRoute
  readonly transit: MemoryShare
  readonly answers: LargeAnswers
  /** An error as callers are answered with it, where the process lacks something. */
  readonly explained: (error: unknown) => unknown
  readonly bug: (error: unknown) => void
}

/** `/mcp`, streamable HTTP: offers each workflow of the server's folder as a tool. */
export function mcpRoutes(app: FastifyInstance, { route, transit, answers, explained, bug }: McpRouteParts): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const body = request.body ?? undefined
    answers.admit(request)
    reply.hijack()
    for (const [name, value] of Object.entries(corsOf(reply))) reply.raw.setHeader(name, value)
    const unread = transit.open(tenantOf(request))
    try {
      await route.answer({ caller: callerOf(request), body, unread }, request.raw, reply.raw)
    } catch (error) {
      const known = asHttpError(explained(error))
      if (known === undefined) bug(error)
      if (reply.raw.headersSent) reply.raw.destroy()
      else sendRaw(reply.raw, known ?? internalError())
    } finally {
      unread.close()
    }
    return reply
  }
  app.post(mcp.path, answer)
  app.get(mcp.path, { exposeHeadRoute: false }, answer)
  app.delete(mcp.path, { config: { body: "none" } }, answer)
}

/** Fastify no longer answers this request. */
function sendRaw(response: ServerResponse, { status, error, headers }: HttpError): void {
  const waits = error.kind === "overloaded" ? { "retry-after": "1" } : {}
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...waits, ...headers })
  response.end(JSON.stringify({ error }))
}
