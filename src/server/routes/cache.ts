import type { FastifyInstance } from "fastify"
import { invalidateCache, type InvalidateAnswer } from "../../api/cache.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { callerOf } from "../caller-of.ts"
import { serve } from "../serve-route.ts"

export function cacheRoutes(app: FastifyInstance, parts: RouteDependencies): void {
  serve(app, invalidateCache, async (request) => {
    const purged_entries = await parts.store.cache.purge(callerOf(request), request.body.cache_key)
    return { purged_entries } satisfies InvalidateAnswer
  })
}
