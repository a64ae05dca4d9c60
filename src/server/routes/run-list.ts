import type { FastifyInstance } from "fastify"
import { parseTime } from "../../base/parse-time.ts"
import { defaultLimit } from "../../api/page.ts"
import { listRuns, notATime, type ListedRunAnswer } from "../../api/runs.ts"
import type { ListedRun, RunPosition } from "../../ports/run-list.ts"
import { listNeedsKeys } from "../callers.ts"
import { previewOf } from "../run-preview.ts"
import { refuseAt } from "../http-error.ts"
import { jsonType, ListPage } from "../list-page.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { callerOf } from "../caller-of.ts"
import { serve } from "../serve-route.ts"

/** `GET /runs`: the caller's runs, newest first; to operators those of all callers. */
export function runListRoute(app: FastifyInstance, parts: RouteDependencies, isOpenToStrangers: boolean): void {
  serve(app, listRuns, async (request, reply) => {
    const { isOperator } = request
    if (isOpenToStrangers && !isOperator) throw listNeedsKeys("runs")
    const {
      workflow = null,
      status = null,
      error_kind = null,
      limit: most = defaultLimit,
      after,
      since,
      include,
    } = request.query
    const query = {
      caller: isOperator ? null : callerOf(request),
      workflow,
      status,
      error_kind,
      since: since === undefined ? null : readTime(since),
      after: after === undefined ? null : readCursor(after),
    }
    const text = await parts.answers.make(request, async () => {
      // One more tells whether there is a next page.
      const found = await parts.store.list({ ...query, limit: most + 1 })
      const page = new ListPage()
      let last: ListedRun | null = null
      for (const run of found.slice(0, most)) {
        const preview = include === undefined ? {} : { preview: await previewOf(parts.store, run, parts.retentionMs) }
        if (!(await page.add({ ...toAnswer(run, isOperator), ...preview }))) break
        last = run
      }
      const next = last !== null && page.size < found.length ? cursorOf(last) : null
      return page.write("runs", { after: { next } })
    })
    return reply.type(jsonType).send(text)
  })
}

function toAnswer(run: ListedRun, forOperator: boolean): ListedRunAnswer {
  const { run_id, caller, workflow, trigger, status, error_kind, created_at, finished_at, usage } = run
  return {
    run_id,
    ...(forOperator && { caller }),
    workflow: workflow?.name ?? null,
    version: workflow?.version ?? null,
    ...(trigger !== null && { trigger }),
    status,
    ...(error_kind !== null && { error_kind }),
    created_at: new Date(created_at).toISOString(),
    finished_at: finished_at === null ? null : new Date(finished_at).toISOString(),
    usage,
  }
}

function readTime(text: string): number {
  // An unescaped `+` of a query arrives as a blank.
  const ms = parseTime(text.replace(" ", "+"))
  if (ms === undefined) throw refuseAt("invalid_request", "since", notATime)
  return ms
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
