import type { FastifyInstance } from "fastify"
import { execute, type ExecuteBody } from "../../api/execute.ts"
import type { RunRequest } from "../../ports/store.ts"
import { readNotify } from "../check-notify.ts"
import { HttpError } from "../http-error.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { tenantOf } from "../caller-of.ts"
import { yieldIfLarge } from "../read-body.ts"
import { readModules, readSource } from "../read-source.ts"
import { serve } from "../serve-route.ts"
import { startRun } from "../start-run.ts"

/** `POST /execute`: runs the workflow whose source comes with the request. */
export function executeRoute(app: FastifyInstance, parts: RouteDependencies): void {
  serve(app, execute, async (request, reply) => {
    const { body } = request
    const run = { source: readSource(body), ...readModules(body), ...requestOf(body) }
    const compiled = await parts.planOf(run, tenantOf(request))
    if ("error" in compiled) throw new HttpError(compiled.error)
    // Compiling has taken its time already.
    const turn = yieldIfLarge(request)
    if (turn !== null) await turn
    const misfit = parts.runs.validate(compiled.plan, run)
    if (misfit !== null) throw new HttpError(misfit)
    return startRun(parts, request, reply, compiled.plan, run)
  })
}

/** Fields of the body, besides the source. */
export function requestOf(body: Pick<ExecuteBody, "input" | "secrets" | "options">): Omit<RunRequest, "source"> {
  const options = body.options ?? {}
  const notify = readNotify(options.notify)
  return {
    input: body.input ?? {},
    secrets: body.secrets ?? {},
    options: {
      cache_key: options.cache_key ?? null,
      use_cache: options.use_cache ?? true,
      max_concurrency: options.max_concurrency ?? null,
      timeout_ms: options.timeout_ms ?? null,
      deltas: (options.deltas ?? false) || options.partials === true,
      // Absent, not null: the fingerprints of requests without it stay what they were.
      ...(notify === undefined ? {} : { notify }),
      ...(options.partials === true ? { partials: true } : {}),
      ...(options.limits === undefined || options.limits === null ? {} : { limits: options.limits }),
      ...(options.on_budget === "wait" ? { on_budget: "wait" } : {}),
    },
  }
}
