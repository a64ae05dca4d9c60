import { createHash } from "node:crypto"
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import { executeBody, noQuery } from "../../api/schemas.ts"
import type { ExecuteBody } from "../../api/shapes.ts"
import { canonicalJson } from "../../base/canonical-json.ts"
import type { LogEvent } from "../../run/events.ts"
import { validateRequest } from "../../run/fit-request.ts"
import type { RunRequest } from "../../ports/store.ts"
import { sendError } from "../answer-error.ts"
import { corsOf } from "../cors.ts"
import { HttpError, refuse } from "../http-error.ts"
import type { RouteDependencies } from "../parts.ts"
import { callerOf, shareOf } from "../parts.ts"
import { readQualityList } from "../quality-list.ts"
import { readSource } from "../read-source.ts"

/** `POST /execute`: runs a workflow; the answer is its output, or the stream of its events. */
export function executeRoute(app: FastifyInstance, parts: RouteDependencies): void {
  app.post("/execute", { schema: { body: executeBody, querystring: noQuery } }, async (request, reply) => {
    const key = idempotencyKey(request)
    const run = toRunRequest(request.body as ExecuteBody)
    const compiled = await parts.planOf(run.source)
    if ("error" in compiled) throw new HttpError(compiled.error)
    const misfit = validateRequest(compiled.plan, run.input, run.secrets)
    if (misfit !== null) throw new HttpError(misfit)

    const streaming = wantsStream(request)
    const admitted = await parts.runs.admit(
      compiled.plan,
      {
        caller: callerOf(request),
        request: run,
        idempotency: key === undefined ? null : { key, fingerprint: fingerprint(run) },
        resumable: streaming || key !== undefined,
      },
      shareOf(request),
    )
    if (admitted.outcome === "refused") throw new HttpError(admitted.error, { "retry-after": "1" })
    if (admitted.outcome === "conflict") {
      throw refuse("conflict", "This Idempotency-Key was used with another body: send a new key, or the same body")
    }
    const { run_id } = admitted
    const headers: Record<string, string> = { "x-service-run-id": run_id }
    if (admitted.outcome === "exists") headers["idempotency-replayed"] = "true"
    parts.log.info({ run_id, replayed: admitted.outcome === "exists", streaming }, "run admitted")
    if (streaming) {
      reply.hijack()
      await parts.streams.send(reply.raw, { ...corsOf(reply), ...headers }, (signal) =>
        parts.store.follow(run_id, 0, signal),
      )
      return reply
    }
    return answerJson(parts, reply, run_id, headers, key === undefined)
  })
}

async function answerJson(
  parts: RouteDependencies,
  reply: FastifyReply,
  run_id: string,
  headers: Record<string, string>,
  cancelWhenGone: boolean,
): Promise<FastifyReply> {
  const gone = new AbortController()
  const onClose = (): void => gone.abort(new Error("The client is gone"))
  reply.raw.once("close", onClose)
  // It may have gone while the run was being stored; `close` is said only once.
  if (reply.raw.closed) onClose()
  void reply.headers(headers)
  const end = await parts.runs.ending(run_id, gone.signal)
  reply.raw.off("close", onClose)
  if (gone.signal.aborted) {
    if (cancelWhenGone) await parts.runs.cancel(run_id)
    reply.hijack()
    return reply
  }
  if (end !== null) return answerEnd(reply, end)
  if (parts.runs.isDraining) throw refuse("overloaded", "The service is shutting down")
  throw refuse("run_expired", "This run has been deleted: its time, WIRE_RETENTION, is over")
}

function answerEnd(reply: FastifyReply, end: LogEvent): FastifyReply {
  switch (end.type) {
    case "workflow_completed":
      return reply.type("application/json; charset=utf-8").send(JSON.stringify(end.data.output.result))
    case "workflow_failed":
      return sendError(reply, end.data.error)
    case "workflow_cancelled":
      return sendError(reply, { kind: "cancelled", message: "The run was cancelled", issues: [] })
    default:
      throw new Error(`${end.type} ends no run`)
  }
}

function wantsStream(request: FastifyRequest): boolean {
  return (readQualityList(request.headers.accept).get("text/event-stream") ?? 0) > 0
}

function idempotencyKey(request: FastifyRequest): string | undefined {
  const key = request.headers["idempotency-key"]
  if (key === undefined) return undefined
  if (typeof key !== "string" || key.length < 1 || key.length > 255) {
    throw refuse("invalid_request", "An Idempotency-Key has 1 to 255 characters")
  }
  return key
}

function toRunRequest(body: ExecuteBody): RunRequest {
  const options = body.options ?? {}
  return {
    source: readSource(body),
    input: body.input ?? {},
    secrets: body.secrets ?? {},
    options: {
      cache_key: options.cache_key ?? null,
      use_cache: options.use_cache ?? true,
      max_concurrency: options.max_concurrency ?? null,
      timeout_ms: options.timeout_ms ?? null,
      deltas: options.deltas ?? false,
    },
  }
}

/** What makes two bodies the same: all but the secrets, whatever the order of their keys. */
function fingerprint({ source, input, options }: RunRequest): string {
  return createHash("sha256")
    .update(canonicalJson([source, input, options]))
    .digest("base64url")
}
