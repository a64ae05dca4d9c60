import type { FastifyInstance } from "fastify"
import { usualLimit } from "../../api/page.ts"
import { listRuns, type ListedRunAnswer } from "../../api/runs.ts"
import type { ListedRun, RunPosition } from "../../ports/run-list.ts"
import { listNeedsKeys } from "../callers.ts"
import { refuseAt } from "../http-error.ts"
import { jsonType, ListPage } from "../list-page.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { callerOf } from "../caller-of.ts"
import { serve } from "../serve-route.ts"

/** `GET /runs`: the caller's runs, newest first. */
export function runListRoute(app: FastifyInstance, parts: RouteDependencies, isOpenToStrangers: boolean): void {
  serve(app, listRuns, async (request, reply) => {
    if (isOpenToStrangers) throw listNeedsKeys("runs")
    const { workflow = null, status = null, limit: most = usualLimit, after } = request.query
    const query = {
      caller: callerOf(request),
      workflow,
      status,
      after: after === undefined ? null : readCursor(after),
    }
    const text = await parts.answers.make(request, async () => {
      // One more tells whether there is a next page.
      const found = await parts.store.list({ ...query, limit: most + 1 })
      const page = new ListPage()
      let last: ListedRun | null = null
      for (const run of found.slice(0, most)) {
        if (!(await page.add(toAnswer(run)))) break
        last = run
      }
      const next = last !== null && page.size < found.length ? cursorOf(last) : null
      return page.write("runs", { after: { next } })
    })
    return reply.type(jsonType).send(text)
  })
}

function toAnswer({ run_id, workflow, status, created_at, finished_at, usage }: ListedRun): ListedRunAnswer {
  return {
    run_id,
    workflow: workflow?.name ?? null,
    version: workflow?.version ?? null,
    status,
    created_at: new Date(created_at).toISOString(),
    finished_at: finished_at === null ? null : new Date(finished_at).toISOString(),
    usage,
  }
}

function cursorOf({ created_at, run_id }: RunPosition): string {
  return Buffer.from(`${created_at} ${run_id}`).toString("base64url")
}

function readCursor(text: string): RunPosition {
  const [, created_at, run_id] = /^(\d{1,15}) (\S{1,200})$/.exec(Buffer.from(text, "base64url").toString("utf8")) ?? []
  if (created_at === undefined || run_id === undefined) {
    throw refuseAt("invalid_request", "after", "`after` must be the `next` of another page")
  }
  return { created_at: Number(created_at), run_id }
}
