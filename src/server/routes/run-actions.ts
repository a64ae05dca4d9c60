import { randomUUID } from "node:crypto"
import type { FastifyInstance, FastifyRequest } from "fastify"
import {
  getRunsAction,
  startRunsAction,
  type RunsActionBody,
  type RunsActionStarted,
  type RunsActionState,
} from "../../api/run-actions.ts"
import { actionKeptMs, isErasure, maxActionRuns, type RunsPlan } from "../../ports/run-actions.ts"
import type { ListedRun, RunPosition } from "../../ports/run-list.ts"
import { callerOf, reaches } from "../caller-of.ts"
import { listNeedsKeys } from "../callers.ts"
import { refuse, refuseAt } from "../http-error.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { actionLeaseMs, type RunActions } from "../run-actions.ts"
import { readSearch } from "../run-filters.ts"
import { searchRuns } from "../run-search.ts"
import { serve } from "../serve-route.ts"

/** Retries, cancels and deletes many runs at once. */
export function runActionRoutes(
  app: FastifyInstance,
  parts: RouteDependencies,
  actions: RunActions,
  isOpenToStrangers: boolean,
): void {
  serve(app, startRunsAction, async (request, reply) => {
    const { isOperator } = request
    if (isOpenToStrangers && !isOperator) throw listNeedsKeys("runs")
    const body: RunsActionBody = request.body
    const { action, dry_run = true } = body
    if (action === "retry_failed" && isOperator) {
      throw refuse("forbidden", "An operator's key starts no runs: retry them with a key of their caller")
    }
    const run_ids = await matchedRuns(parts, request, body)
    const id = randomUUID()
    const caller = callerOf(request)
    const now = parts.clock.now()
    const plan = { act: action, dry_run, run_ids }
    await parts.store.actions.add(
      { id, caller, by_operator: isOperator, plan },
      now + actionLeaseMs,
      now + actionKeptMs,
    )
    if (!dry_run) parts.audit({ act: "runs.action", action, id, caller })
    actions.begin(id)
    return reply.code(202).send({ id, matched: run_ids.length } satisfies RunsActionStarted)
  })

  serve(app, getRunsAction, async (request) => {
    const found = await parts.store.actions.read(request.params.id)
    if (found === null || isErasure(found) || !reaches(request, found.caller))
      throw refuse("not_found", "There is no such action")
    const { completed, progress } = found
    const plan = found.plan as RunsPlan
    return {
      status: completed ? "completed" : "running",
      matched: plan.run_ids.length,
      done: progress.done,
      failed: progress.failed,
    } satisfies RunsActionState
  })
}

async function matchedRuns(parts: RouteDependencies, request: FastifyRequest, body: RunsActionBody): Promise<string[]> {
  const { run_ids, filter } = body
  if ((run_ids === undefined) === (filter === undefined)) {
    throw refuse("invalid_request", "Send either `run_ids` or `filter`")
  }
  if (run_ids !== undefined) return ownRuns(parts, request, new Set(run_ids))
  if (filter === undefined || Object.keys(filter).length === 0) {
    throw refuseAt("invalid_request", "filter", "`filter` must not be empty: it would be all runs")
  }
  const { query, filter: more } = readSearch(request, filter, "filter.")
  const found: ListedRun[] = []
  for (let after: RunPosition | null = null; ;) {
    const page = await searchRuns(parts.store, { ...query, after }, more, pageRuns)
    found.push(...page.found.slice(0, pageRuns))
    if (found.length > maxActionRuns) {
      throw refuseAt("invalid_request", "filter", `More than ${maxActionRuns} runs match: narrow the filter`)
    }
    const last: RunPosition | null = page.found.length > pageRuns ? (found.at(-1) ?? null) : page.stoppedAt
    if (last === null) return found.map(({ run_id }) => run_id)
    after = last
  }
}

const pageRuns = 500

async function ownRuns(parts: RouteDependencies, request: FastifyRequest, ids: ReadonlySet<string>): Promise<string[]> {
  const own: string[] = []
  for (const run_id of ids) {
    const found = await parts.store.lookup(run_id)
    if (found.found === "run" && reaches(request, found.run.caller)) own.push(run_id)
  }
  return own
}
