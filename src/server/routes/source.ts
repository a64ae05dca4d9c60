import { filesOf } from "../../source/source-files.ts"
import type { FastifyInstance } from "fastify"
import type { SourceBody } from "../../api/execute.ts"
import { format, validate, type FormatAnswer, type ValidateBody } from "../../api/source.ts"
import { isoTime } from "../../base/iso-time.ts"
import type { EarlierSource } from "../../compiler/source-jobs.ts"
import type { RunRequest, RunRow } from "../../ports/store.ts"
import { HttpError } from "../http-error.ts"
import { ownRun } from "../own-run.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { tenantOf } from "../caller-of.ts"
import { prefers } from "../quality-list.ts"
import { readModules, readSource } from "../read-source.ts"
import { serve } from "../serve-route.ts"

/** `POST /validate` and `POST /format`: what can be said of a source without running it. */
export function sourceRoutes(app: FastifyInstance, parts: RouteDependencies): void {
  const { compiler } = parts
  serve(app, validate, async (request, reply) => {
    const body: ValidateBody | string = request.body
    const source = readSource(body)
    const { input, secrets, rerun_of, reach, compare_with } = typeof body === "string" ? {} : body
    const before = rerun_of === undefined || rerun_of === null ? null : await ownRun(parts, request, rerun_of)
    const earlier = before === null ? null : earlierSource(before, await parts.store.request(before.run_id))
    const older = compare_with ?? null
    const asked = {
      ...(earlier !== null && { earlier }),
      ...(reach === true && { reach }),
      ...(older !== null && { compareWith: { source: readSource(older), ...readModules(older) } }),
    }
    const files = typeof body === "string" ? {} : readModules(body)
    const job = { kind: "validate", source, ...files, input, secrets, ...asked } as const
    const answer = await compiler.validate(job, tenantOf(request))
    return reply.type("application/json; charset=utf-8").send(answer)
  })

  serve(app, format, async (request, reply) => {
    const source: SourceBody | string = request.body
    const outcome = await compiler.format(readSource(source), tenantOf(request))
    if ("error" in outcome) throw new HttpError(outcome.error)
    const asText = prefers(request.headers.accept ?? "", "text/plain", "application/json")
    if (asText) return reply.type("text/plain; charset=utf-8").send(outcome.formatted)
    return { formatted_workflow_source: outcome.formatted, changed: outcome.changed } satisfies FormatAnswer
  })
}

/** The parts of an earlier run that the compiler may see: not its secrets. */
function earlierSource({ created_at }: RunRow, request: RunRequest): EarlierSource {
  const { source, input } = request
  return { source, ...filesOf(request), input, sameDay: dayOf(created_at) === dayOf(Date.now()) }
}

function dayOf(time: number): string {
  return isoTime(time).slice(0, 10)
}
