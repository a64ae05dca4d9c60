import type { FastifyInstance } from "fastify"
import { cancelRun, followRun, getRun, notACursor, type CancelAnswer, type RunAnswer } from "../../api/runs.ts"
import type { Notice } from "../../ports/notices.ts"
import { noticeType } from "../../run/notifications/notice-message.ts"
import type { RunRecord } from "../../run/run-record.ts"
import { corsOf } from "../cors.ts"
import { streamHeaders } from "../event-stream.ts"
import { refuseAt } from "../http-error.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { noSuchRun, ownRun } from "../own-run.ts"
import { serve } from "../serve-route.ts"
import { clientGone } from "../start-run.ts"
import { wholeNumber } from "../whole-number.ts"

/** A run's record, its events, and its cancellation. */
export function runRoutes(app: FastifyInstance, parts: RouteDependencies): void {
  serve(app, getRun, async (request, reply) => {
    const seconds = request.query.wait ?? 0
    const { run_id, finished_at } = await ownRun(parts, request, request.params.run_id)
    if (seconds > 0 && finished_at === null) {
      const { signal, stop } = clientGone(reply)
      await parts.runs.ending(run_id, AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)]))
      stop()
      if (signal.aborted) return reply.hijack()
    }
    return parts.answers.make(request, async () => {
      const record = await parts.runs.record(run_id)
      if (record === null) throw noSuchRun()
      return toAnswer(record, await parts.store.outbox.ofRun(run_id))
    })
  })

  serve(app, followRun, async (request, reply) => {
    const after = cursor(request.headers["last-event-id"], request.query.after)
    const run = await ownRun(parts, request, request.params.run_id)
    if (run.finished_at !== null) {
      if (after > run.last_event_id) {
        throw refuseAt(
          "invalid_request",
          "after",
          `The run ended with event ${run.last_event_id}: there is no ${after}`,
        )
      }
      if (after === run.last_event_id) return reply.code(204).send()
    }
    if (request.method === "HEAD") {
      return reply.headers({ ...streamHeaders, "x-service-run-id": run.run_id }).send()
    }
    reply.hijack()
    const headers = { ...corsOf(reply), "x-service-run-id": run.run_id }
    await parts.streams.send(reply.raw, headers, (signal) => parts.store.follow(run.run_id, after, signal))
    return reply
  })

  serve(app, cancelRun, async (request, reply) => {
    const { run_id } = await ownRun(parts, request, request.params.run_id)
    const cancelling = await parts.runs.cancel(run_id)
    if (cancelling) {
      parts.log.info({ run_id }, "cancel requested")
      return reply.code(202).send({ run_id, status: "cancelling" } satisfies CancelAnswer)
    }
    const status = await parts.runs.status(run_id)
    if (status === null) throw noSuchRun()
    return { run_id, status } satisfies CancelAnswer
  })
}

/** The last event that the client has. The header wins over the query. */
function cursor(header: string | string[] | undefined, query: number | undefined): number {
  if (typeof header !== "string") return query ?? 0
  const id = wholeNumber(header)
  if (id === null) throw refuseAt("invalid_request", "Last-Event-ID", notACursor)
  return id
}

function toAnswer({ row, status, state, rerun_of }: RunRecord, notices: readonly Notice[]): RunAnswer {
  return {
    run_id: row.run_id,
    status,
    created_at: new Date(row.created_at).toISOString(),
    finished_at: state.finished_at === null ? null : new Date(state.finished_at).toISOString(),
    output: state.output,
    error: state.error,
    usage: state.usage,
    ...(state.limits === null ? {} : { limits: state.limits }),
    last_event_id: state.last_event_id,
    workflow: row.workflow?.name ?? null,
    version: row.workflow?.version ?? null,
    rerun_of,
    notifications: notices.map((notice) => ({
      type: noticeType(notice),
      status: notice.status,
      attempts: notice.attempts,
      last_error: notice.last_error,
    })),
  }
}
