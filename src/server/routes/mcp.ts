import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import type { MemoryShare } from "../../run/memory-share.ts"
import { corsOf } from "../cors.ts"
import type { McpRoute, ServerLog } from "../route-dependencies.ts"
import { callerOf, shareOf } from "../caller-of.ts"

/** `/mcp`, streamable HTTP: offers each workflow of the server's folder as a tool. */
export function mcpRoutes(app: FastifyInstance, mcp: McpRoute, transit: MemoryShare, log: ServerLog): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const body = request.body ?? undefined
    reply.hijack()
    for (const [name, value] of Object.entries(corsOf(reply))) reply.raw.setHeader(name, value)
    const unread = transit.open(shareOf(request))
    try {
      await mcp.answer({ caller: callerOf(request), body, unread }, request.raw, reply.raw)
    } catch (error) {
      log.error({ err: error, route: "/mcp" }, "unexpected error")
      reply.raw.destroy()
    } finally {
      unread.close()
    }
    return reply
  }
  app.post("/mcp", answer)
  app.get("/mcp", { exposeHeadRoute: false }, answer)
  app.delete("/mcp", { config: { body: "none" } }, answer)
}
