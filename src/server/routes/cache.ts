import type { FastifyInstance } from "fastify"
import { invalidateBody, noQuery } from "../../api/request-schemas.ts"
import type { InvalidateAnswer, InvalidateBody } from "../../api/shapes.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { callerOf } from "../caller-of.ts"

export function cacheRoutes(app: FastifyInstance, parts: RouteDependencies): void {
  app.post("/cache/invalidate", { schema: { body: invalidateBody, querystring: noQuery } }, async (request) => {
    const { cache_key } = request.body as InvalidateBody
    const purged_entries = await parts.store.cachePurge(callerOf(request), cache_key)
    return { purged_entries } satisfies InvalidateAnswer
  })
}
