import type { FastifyInstance } from "fastify"
import type { SourceBody } from "../../api/execute.ts"
import { format, validate, type FormatAnswer, type ValidateBody } from "../../api/source.ts"
import type { RunRequest } from "../../ports/store.ts"
import { HttpError } from "../http-error.ts"
import { ownRun } from "../own-run.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { shareOf } from "../caller-of.ts"
import { prefers } from "../quality-list.ts"
import { readSource } from "../read-source.ts"
import { serve } from "../serve-route.ts"

/** `POST /validate` and `POST /format`: what can be said of a source without running it. */
export function sourceRoutes(app: FastifyInstance, parts: RouteDependencies): void {
  const { compiler } = parts
  serve(app, validate, async (request, reply) => {
    const body: ValidateBody | string = request.body
    const source = readSource(body)
    const { input, secrets, rerun_of } = typeof body === "string" ? {} : body
    const earlier =
      rerun_of === undefined || rerun_of === null
        ? null
        : sourceAndInput(await parts.store.request((await ownRun(parts, request, rerun_of)).run_id))
    const job = { kind: "validate", source, input, secrets, ...(earlier !== null && { earlier }) } as const
    const answer = await compiler.validate(job, shareOf(request))
    return reply.type("application/json; charset=utf-8").send(answer)
  })

  serve(app, format, async (request, reply) => {
    const source: SourceBody | string = request.body
    const outcome = await compiler.format(readSource(source), shareOf(request))
    if ("error" in outcome) throw new HttpError(outcome.error)
    const asText = prefers(request.headers.accept ?? "", "text/plain", "application/json")
    if (asText) return reply.type("text/plain; charset=utf-8").send(outcome.formatted)
    return { formatted_workflow_source: outcome.formatted, changed: outcome.changed } satisfies FormatAnswer
  })
}

/** What a compiler may see of an earlier run: not its secrets. */
function sourceAndInput({ source, input }: RunRequest): Pick<RunRequest, "source" | "input"> {
  return { source, input }
}
