import type { FastifyInstance } from "fastify"
import { isoTime } from "../../base/iso-time.ts"
import { defaultLimit } from "../../api/page.ts"
import { listRuns, type ListedRunAnswer } from "../../api/runs.ts"
import { getRunStats, maxBuckets, type RunStatsAnswer } from "../../api/run-stats.ts"
import { nano } from "../../ports/ledger.ts"
import type { ListedRun, RunPosition, WorkflowVersion } from "../../ports/run-list.ts"
import { statsUnits } from "../../ports/run-stats.ts"
import { listNeedsKeys } from "../callers.ts"
import { previewOf } from "../run-preview.ts"
import { readFilters, readSearch } from "../run-filters.ts"
import { detailsOf, searchRuns } from "../run-search.ts"
import { refuseAt } from "../http-error.ts"
import { jsonType, ListPage } from "../list-page.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { serve } from "../serve-route.ts"

/** `GET /runs`: the caller's runs, newest first; to operators those of all callers. */
export function runListRoute(app: FastifyInstance, parts: RouteDependencies, isOpenToStrangers: boolean): void {
  serve(app, listRuns, async (request, reply) => {
    const { isOperator } = request
    if (isOpenToStrangers && !isOperator) throw listNeedsKeys("runs")
    const { limit: most = defaultLimit, after, include, ...given } = request.query
    const { query: filters, filter } = readSearch(request, given)
    const query = { ...filters, after: after === undefined ? null : readCursor(after) }
    const text = await parts.answers.make(request, async () => {
      const { found, stoppedAt } = await searchRuns(parts.store, query, filter, most)
      const page = new ListPage()
      let last: ListedRun | null = null
      for (const run of found.slice(0, most)) {
        const preview = include === undefined ? {} : { preview: previewOf(run, parts.retentionMs) }
        if (!(await page.add({ ...toAnswer(run, isOperator), ...preview }))) break
        last = run
      }
      const isCut = page.size < found.length
      const next = isCut && last !== null ? last : isCut ? null : stoppedAt
      const searched_back_to = isCut || stoppedAt === null ? null : isoTime(stoppedAt.created_at)
      return page.write("runs", { after: { next: next === null ? null : cursorOf(next), searched_back_to } })
    })
    return reply.type(jsonType).send(text)
  })

  serve(app, getRunStats, async (request) => {
    if (isOpenToStrangers && !request.isOperator) throw listNeedsKeys("runs")
    const { by: unit = "hour", ...given } = request.query
    const filters = readFilters(request, given)
    const ms = statsUnits[unit]
    const until = filters.until ?? parts.clock.now()
    const last = Math.ceil(until / ms)
    const since = filters.since ?? (last - maxBuckets) * ms
    if (since > until) throw refuseAt("invalid_request", "since", "`since` must not be after `until`")
    if (last - Math.floor(since / ms) > maxBuckets) {
      const message = `From \`since\` to \`until\` there are more than ${maxBuckets} ${unit}s`
      throw refuseAt("invalid_request", "since", message, unit === "hour" ? "Ask with `by=day`." : undefined)
    }
    const found = await parts.store.stats({ ...filters, since, unit })
    return {
      by: unit,
      since: isoTime(since),
      until: isoTime(until),
      buckets: found.map(({ at, cost, ...counts }) => ({ at: isoTime(at), ...counts, cost: cost / nano })),
    } satisfies RunStatsAnswer
  })
}

function toAnswer(run: ListedRun, forOperator: boolean): ListedRunAnswer {
  const { run_id, caller, workflow, trigger, trace_id, status, error_kind, created_at, finished_at, usage } = run
  return {
    run_id,
    ...(forOperator && { caller }),
    workflow: workflow?.name ?? null,
    version: workflow?.version ?? null,
    ...sideOf(workflow),
    ...(trigger !== null && { trigger }),
    trace_id,
    status,
    ...(error_kind !== null && { error_kind }),
    created_at: new Date(created_at).toISOString(),
    finished_at: finished_at === null ? null : new Date(finished_at).toISOString(),
    usage,
    ...detailsOf(run),
  }
}

/** Absent where there was no candidate. */
export function sideOf(
  workflow: WorkflowVersion | null,
): Pick<ListedRunAnswer, "release" | "shadow_of" | "moved_from"> {
  const { release, shadow_of, moved_from } = workflow ?? {}
  return {
    ...(release !== undefined && { release }),
    ...(shadow_of !== undefined && { shadow_of }),
    ...(moved_from !== undefined && { moved_from }),
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
