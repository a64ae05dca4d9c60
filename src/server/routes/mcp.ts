import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import { mcp } from "../../api/operations.ts"
import type { MemoryShare } from "../../run/memory-share.ts"
import { corsOf } from "../cors.ts"
import type { McpRoute, ServerLog } from "../route-dependencies.ts"
import { callerOf, shareOf } from "../caller-of.ts"

/** `/mcp`, streamable HTTP: offers each workflow of the server's folder as a tool. */
export function mcpRoutes(app: FastifyInstance, route: McpRoute, transit: MemoryShare, log: ServerLog): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const body = request.body ?? undefined
    reply.hijack()
    for (const [name, value] of Object.entries(corsOf(reply))) reply.raw.setHeader(name, value)
    const unread = transit.open(shareOf(request))
    try {
      await route.answer({ caller: callerOf(request), body, unread }, request.raw, reply.raw)
    } catch (error) {
      log.error({ err: error, route: mcp.path }, "unexpected error")
      reply.raw.destroy()
    } finally {
      unread.close()
    }
    return reply
  }
  app.post(mcp.path, answer)
  app.get(mcp.path, { exposeHeadRoute: false }, answer)
  app.delete(mcp.path, { config: { body: "none" } }, answer)
}
