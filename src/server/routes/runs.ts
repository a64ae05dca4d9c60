import { filesOf } from "../../source/source-files.ts"
import { eventCursor, streamHeaders } from "../event-stream.ts"
import type { FastifyInstance, FastifyRequest } from "fastify"
import {
  cancelRun,
  deleteRun,
  followRun,
  getRun,
  getCallRequest,
  getRunRequest,
  type CallRequestAnswer,
  type CancelAnswer,
  type RunRequestAnswer,
  type RunAnswer,
} from "../../api/runs.ts"
import { isoTime } from "../../base/iso-time.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { RedactedRun, RunOptions } from "../../ports/store.ts"
import type { Score } from "../../ports/scores.ts"
import type { Notice } from "../../ports/notices.ts"
import { noticeType } from "../../run/notifications/notice-message.ts"
import { readCallRequest } from "../../run/call-request.ts"
import type { RunRecord } from "../../run/run-record.ts"
import { refuse, refuseAt, runExpired, type HttpError } from "../http-error.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { noSuchRun, ownRecord, ownRun } from "../own-run.ts"
import { callerOf } from "../caller-of.ts"
import { sideOf } from "./run-list.ts"
import { serve } from "../serve-route.ts"
import { clientGone, streamRun } from "../start-run.ts"

/** A run's record, its events, its cancellation and its deletion. */
export function runRoutes(app: FastifyInstance, parts: RouteDependencies): void {
  serve(app, getRun, async (request, reply) => {
    const seconds = request.query.wait ?? 0
    const own = await ownRecord(parts, request, request.params.run_id)
    if ("redacted_at" in own) return redactedAnswer(parts, request, own)
    const { run_id, finished_at } = own
    if (seconds > 0 && finished_at === null) {
      const { gone, stop } = clientGone(reply)
      const timer = setTimeout(() => gone.give(), seconds * 1000).unref()
      await parts.runs.ending(run_id, gone)
      clearTimeout(timer)
      stop()
      if (reply.raw.closed) return reply.hijack()
    }
    return parts.answers.make(request, async () => {
      const record = await parts.runs.record(run_id)
      if (record === null) throw noSuchRun()
      const notices = await parts.store.outbox.ofRun(run_id)
      const scores = record.row.finished_at === null ? [] : await parts.store.scores.of(run_id)
      return {
        ...toAnswer(record, notices, scores),
        ...traceLink(parts.traceUrl, record.row.trace_id),
        ...(request.isOperator && { caller: record.row.caller }),
      }
    })
  })

  serve(app, getRunRequest, async (request) => {
    const row = await ownRun(parts, request, request.params.run_id)
    return parts.answers.make(request, async () => {
      const { source, input, options, rerun, ...more } = await parts.store.request(row.run_id)
      return {
        run_id: row.run_id,
        source,
        ...filesOf(more),
        input,
        options: givenOptions(options),
        workflow: row.workflow?.name ?? null,
        version: row.workflow?.version ?? null,
        rerun_of: rerun?.run_id ?? null,
      } satisfies RunRequestAnswer
    })
  })

  serve(app, getCallRequest, async (request) => {
    const { run_id } = await ownRun(parts, request, request.params.run_id)
    const { call_id } = request.params
    return parts.answers.make(request, async () => {
      const found = await readCallRequest(parts.store, run_id, call_id)
      if (found === null) throw noSuchRequest()
      const { redacted = false, ...rest } = found
      return { run_id, ...rest, redacted } satisfies CallRequestAnswer
    })
  })

  serve(app, followRun, async (request, reply) => {
    const after = eventCursor(request.headers["last-event-id"], request.query.after)
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
    await streamRun(parts, reply, run.run_id, after, { "x-service-run-id": run.run_id })
    return reply
  })

  serve(app, cancelRun, async (request, reply) => {
    const { run_id } = await ownRun(parts, request, request.params.run_id)
    const cancelling = await parts.runs.cancel(run_id)
    if (cancelling) {
      const caller = callerOf(request)
      parts.log.info({ run_id, ...(caller !== "" && { caller }) }, "cancel requested")
      parts.audit({ act: "cancelled", run_id, caller })
      return reply.code(202).send({ run_id, status: "cancelling" } satisfies CancelAnswer)
    }
    const status = await parts.runs.status(run_id)
    if (status === null) throw noSuchRun()
    return { run_id, status } satisfies CancelAnswer
  })

  serve(app, deleteRun, async (request, reply) => {
    const own = await ownRecord(parts, request, request.params.run_id)
    const { run_id } = "redacted_at" in own ? own.run : own
    const deletion = await parts.store.delete(run_id)
    if (deletion === "gone") throw runExpired()
    if (deletion === "open") {
      throw refuse(
        "conflict",
        `The run has not ended: cancel it first (POST /execute/${run_id}/cancel), or wait for its end`,
      )
    }
    const caller = callerOf(request)
    parts.log.info({ run_id, ...(caller !== "" && { caller }) }, "run deleted")
    parts.audit({ act: "deleted", run_id, caller })
    return reply.code(204).send()
  })
}

const noSuchRequest = (): HttpError =>
  refuse(
    "not_found",
    "There is no request of such a call: the call does not exist, it has not ended, or requests are not kept (WIRE_KEEP_REQUESTS)",
  )

/** The options that a request has to have to ask for the same: an address that is notified may hold a token. */
function givenOptions(options: RunOptions): JsonObject {
  const isGiven = ([name, value]: [string, unknown]): boolean =>
    name !== "notify" && value !== null && !(name === "use_cache" && value === true)
  return Object.fromEntries(Object.entries(options).filter(isGiven))
}

function traceLink(url: string | null, trace_id: string | null): Pick<RunAnswer, "trace_url"> {
  return url === null || trace_id === null ? {} : { trace_url: url.replaceAll("{trace_id}", trace_id) }
}

async function redactedAnswer(
  parts: RouteDependencies,
  request: FastifyRequest,
  { run: row, status, error_kind, usage, rerun_of, redacted_at }: RedactedRun,
): Promise<RunAnswer> {
  return {
    run_id: row.run_id,
    status,
    created_at: isoTime(row.created_at),
    finished_at: row.finished_at === null ? null : isoTime(row.finished_at),
    redacted_at: isoTime(redacted_at),
    output: null,
    error:
      error_kind === null
        ? null
        : { kind: error_kind, message: "What it said was deleted: the run had private values", issues: [] },
    usage,
    last_event_id: row.last_event_id,
    workflow: row.workflow?.name ?? null,
    version: row.workflow?.version ?? null,
    ...sideOf(row.workflow),
    ...(row.trigger !== null && { trigger: row.trigger }),
    trace_id: row.trace_id,
    rerun_of,
    batches: [],
    scores: [...(await parts.store.scores.of(row.run_id))],
    notifications: [],
    ...traceLink(parts.traceUrl, row.trace_id),
    ...(request.isOperator && { caller: row.caller }),
  }
}

function toAnswer(
  { row, status, state, rerun_of, waiting_for, batches }: RunRecord,
  notices: readonly Notice[],
  scores: readonly Score[],
): RunAnswer {
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
    ...sideOf(row.workflow),
    ...(row.trigger !== null && { trigger: row.trigger }),
    trace_id: row.trace_id,
    rerun_of,
    ...(waiting_for !== null && { waiting_for }),
    batches: [...batches],
    scores: [...scores],
    notifications: notices.map((notice) => ({
      type: noticeType(notice),
      status: notice.status,
      attempts: notice.attempts,
      last_error: notice.last_error,
    })),
  }
}
