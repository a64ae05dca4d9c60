import type { FastifyInstance, FastifyRequest } from "fastify"
import { mcp } from "../../api/operations.ts"
import { chatFileRoutes } from "../protocols/openai/files.ts"
import { chatCompletionRoute } from "../protocols/openai/chat-completions.ts"
import { modelRoutes } from "../protocols/openai/models.ts"
import { responseRoutes } from "../protocols/openai/responses.ts"
import type { RateLimit } from "../rate-limit.ts"
import type { RunActions } from "../run-actions.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import type { ServerOptions } from "../server-options.ts"
import { cacheRoutes } from "./cache.ts"
import { erasureRoutes } from "./erasure.ts"
import { eventRoutes } from "./events.ts"
import { executeRoute } from "./execute.ts"
import { fileRoutes } from "./files.ts"
import { hookRoutes } from "./hooks.ts"
import { mcpRoutes } from "./mcp.ts"
import { operationRoutes } from "./operations.ts"
import { originsRoute } from "./origins.ts"
import { questionRoutes } from "./questions.ts"
import { rerunRoute } from "./rerun.ts"
import { runActionRoutes } from "./run-actions.ts"
import { runListRoute } from "./run-list.ts"
import { runRoutes } from "./runs.ts"
import { scoreRoutes } from "./scores.ts"
import { sourceRoutes } from "./source.ts"
import { spendingRoutes } from "./spending.ts"
import { triggerRoutes } from "./triggers.ts"
import { workflowRoutes } from "./workflows.ts"

/** Options of single routes, besides the dependencies that all share. */
interface RouteOptions extends Pick<Parameters<typeof mcpRoutes>[1], "transit" | "explained"> {
  readonly server: ServerOptions
  readonly limit: RateLimit
  readonly logBug: (bug: unknown, route: string) => void
  readonly isDraining: () => boolean
  readonly actions: RunActions
}

export function allRoutes(app: FastifyInstance, parts: RouteDependencies, options: RouteOptions): void {
  const { server, limit, logBug, transit, explained, isDraining, actions } = options
  const isOpenToAll = server.keys.length === 0 && !server.loopback
  operationRoutes(app, server, isDraining)
  executeRoute(app, parts)
  rerunRoute(app, parts)
  runRoutes(app, parts)
  originsRoute(app, parts)
  sourceRoutes(app, parts)
  cacheRoutes(app, parts)
  const mayOperate = (request: FastifyRequest): boolean =>
    request.isOperator || (server.keys.length === 0 && server.loopback)
  workflowRoutes(app, parts, mayOperate)
  modelRoutes(app, parts)
  chatCompletionRoute(app, parts)
  responseRoutes(app, parts)
  chatFileRoutes(app, parts, isOpenToAll)
  if (server.mcp !== null) {
    const bug = (error: unknown): void => logBug(error, mcp.path)
    mcpRoutes(app, { route: server.mcp, transit, answers: parts.answers, explained, bug })
  }
  triggerRoutes(app, parts, isOpenToAll)
  hookRoutes(app, parts, limit, server.maxBody)
  spendingRoutes(app, parts, server)
  runListRoute(app, parts, isOpenToAll)
  scoreRoutes(app, parts, isOpenToAll)
  runActionRoutes(app, parts, actions, isOpenToAll)
  erasureRoutes(app, parts, actions, mayOperate)
  questionRoutes(app, parts, isOpenToAll)
  eventRoutes(app, parts, isOpenToAll)
  fileRoutes(app, parts, isOpenToAll)
}
