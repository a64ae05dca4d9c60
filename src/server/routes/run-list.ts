import type { FastifyInstance } from "fastify"
import { isoTime } from "../../base/iso-time.ts"
import { parseTime } from "../../base/parse-time.ts"
import { defaultLimit } from "../../api/page.ts"
import { listRuns, notATime, type ListedRunAnswer } from "../../api/runs.ts"
import type { ListedRun, RunPosition } from "../../ports/run-list.ts"
import { listNeedsKeys } from "../callers.ts"
import { previewOf } from "../run-preview.ts"
import { detailsOf, searchRuns, wordsOf } from "../run-search.ts"
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
    const { q, workflow, limit: most = defaultLimit, after, since, until, include, caller, ...rest } = request.query
    const { version = null, status = null, error_kind = null } = rest
    if (caller !== undefined && !isOperator) {
      throw refuseAt("invalid_request", "caller", "`caller` is for operators: a caller's list has its own runs")
    }
    const query = {
      caller: isOperator ? (caller ?? null) : callerOf(request),
      workflows: workflow === undefined ? null : typeof workflow === "string" ? [workflow] : workflow,
      version,
      status,
      error_kind,
      since: since === undefined ? null : readTime(since, "since"),
      until: until === undefined ? null : readTime(until, "until"),
      after: after === undefined ? null : readCursor(after),
    }
    const { started_by = null, min_cost = null, min_seconds = null } = rest
    const filter = { words: q === undefined ? [] : readWords(q), started_by, min_cost, min_seconds }
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
    ...detailsOf(run),
  }
}

function readWords(text: string): string[] {
  const words = wordsOf(text)
  if (words.length === 0) throw refuseAt("invalid_request", "q", "`q` has at least one word")
  return words
}

function readTime(text: string, name: string): number {
  // An unescaped `+` of a query arrives as a blank.
  const ms = parseTime(text.replace(" ", "+"))
  if (ms === undefined) throw refuseAt("invalid_request", name, notATime)
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
