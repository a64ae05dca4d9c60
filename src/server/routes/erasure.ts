import { randomUUID } from "node:crypto"
import type { FastifyInstance, FastifyRequest } from "fastify"
import {
  getErasure,
  leftByErasure,
  listErased,
  startErasure,
  type ErasedRunsAnswer,
  type ErasureBody,
  type ErasureStarted,
  type ErasureState,
} from "../../api/erasure.ts"
import { isoTime } from "../../base/iso-time.ts"
import { erasePath } from "../../ports/erasure.ts"
import { actionKeptMs, isErasure } from "../../ports/run-actions.ts"
import { callerOf } from "../caller-of.ts"
import { refuse, refuseAt } from "../http-error.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { actionLeaseMs, type RunActions } from "../run-actions.ts"
import { serve } from "../serve-route.ts"

const usualPage = 1_000

/** Erases runs by values of their input. */
export function erasureRoutes(
  app: FastifyInstance,
  { store, clock, audit }: RouteDependencies,
  actions: RunActions,
  mayOperate: (request: FastifyRequest) => boolean,
): void {
  const mustOperate = (request: FastifyRequest): void => {
    if (!mayOperate(request)) throw refuse("forbidden", "Erasing is for operators")
  }

  serve(app, startErasure, async (request, reply) => {
    mustOperate(request)
    const { where, dry_run = true, also_open = false, ...body }: ErasureBody = request.body
    const workflow = body.workflow ?? null
    const paths = Object.keys(where)
    for (const path of paths) checkPath(path)
    const { erasure } = store
    const sought = await Promise.all(
      Object.entries(where).map(async ([path, value]) => ({ path, digest: await erasure.digest(path, value) })),
    )
    const id = randomUUID()
    const caller = callerOf(request)
    const now = clock.now()
    const plan = { act: "erase", dry_run, also_open, where: sought, workflow, until: await erasure.newest() } as const
    await store.actions.add({ id, caller, by_operator: true, plan }, now + actionLeaseMs, withoutAge(now, also_open))
    if (!dry_run) audit({ act: "erase", id, caller, paths, ...(workflow !== null && { workflow }) })
    actions.begin(id)
    return reply.code(202).send({ id } satisfies ErasureStarted)
  })

  serve(app, getErasure, async (request) => {
    mustOperate(request)
    const found = await store.actions.read(request.params.id)
    if (found === null || !isErasure(found)) throw refuse("not_found", "There is no such erasure")
    const { plan, progress, completed } = found
    const { done, open = [], pending = [], others = [], failed, next } = progress
    return {
      status: completed ? "completed" : "running",
      matched: done + open.length + pending.length + others.length,
      erased: plan.dry_run ? 0 : done,
      open: [...open],
      unreadable: failed.map(({ run_id }) => run_id),
      progress: { looked_at: next, of: plan.until },
      not_erased: [...leftByErasure],
    } satisfies ErasureState
  })

  serve(app, listErased, async (request) => {
    mustOperate(request)
    const { limit = usualPage, after = "" } = request.query
    const found = await store.erasure.erased(limit + 1, after)
    const page = found.slice(0, limit)
    return {
      erased: page.map(({ run_id, erased_at }) => ({ run_id, erased_at: isoTime(erased_at) })),
      next: found.length > limit ? (page.at(-1)?.run_id ?? null) : null,
    } satisfies ErasedRunsAnswer
  })
}

/** One that waits for open runs is kept until they have ended, however long that takes. */
function withoutAge(now: number, waits: boolean): number {
  return waits ? now + 100 * 365 * 24 * 3_600_000 : now + actionKeptMs
}

function checkPath(path: string): void {
  if (erasePath.test(path)) return
  throw refuseAt(
    "invalid_request",
    "where",
    `"${path.slice(0, 100)}" must be a path below the input, such as input.customer, and lead into no array`,
  )
}
