import type { FastifyReply, FastifyRequest } from "fastify"
import type { StartedAnswer, WaitingAnswer } from "../api/execute.ts"
import { LightSignal } from "../base/light-signal.ts"
import type { Plan } from "../plan/plan-shape.ts"
import { isStoreTrouble, type RunRequest } from "../ports/store.ts"
import type { LogEvent, WaitingFor } from "../log/events.ts"
import { readWaitingFor } from "../log/waiting-for.ts"
import type { QuestionPage } from "../ports/question-store.ts"
import { sendError } from "./answer-error.ts"
import { checkNotify } from "./check-notify.ts"
import { corsOf } from "./cors.ts"
import { fingerprint, idempotencyKey, keyTaken } from "./idempotency-key.ts"
import { HttpError, runExpired } from "./http-error.ts"
import { runIsLost } from "../run/run-is-lost.ts"
import { jsonType } from "./list-page.ts"
import { writeQuestions } from "./question-page.ts"
import type { RouteDependencies } from "./route-dependencies.ts"
import { callerOf, tenantOf } from "./caller-of.ts"
import { preferencesOf } from "./preferences.ts"
import { StreamPartials } from "./stream-partials.ts"
import { yieldIfLarge } from "./read-body.ts"
import { baggageOf, traceOf } from "./trace-headers.ts"
import { readQualityList } from "./quality-list.ts"

/** How a client wants the answer: the events as they happen, the output, or the run's id at once. */
type Mode = "stream" | "json" | "async"

/** Admits a run and answers in the mode that the request asks for. Every route that starts runs of `/execute` ends here. */
export async function startRun(
  parts: RouteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  plan: Plan,
  run: RunRequest,
): Promise<FastifyReply> {
  const mode = modeOf(request)
  const { run_id, key, replayed } = await admitRun(parts, request, plan, run)
  const headers: Record<string, string> = { "x-service-run-id": run_id }
  if (replayed) headers["idempotency-replayed"] = "true"
  // The end of a run has a line, too, and for a plain request it comes with the answer.
  const isPlain = mode === "json" && key === undefined
  parts.log[isPlain ? "debug" : "info"]({ run_id, replayed, mode }, "run admitted")
  switch (mode) {
    case "stream":
      reply.hijack()
      await streamRun(parts, reply, run_id, 0, headers)
      return reply
    case "async":
      return await answerStarted(parts, reply.headers(headers), run_id)
    case "json":
      return await answerEnding(parts, reply.headers(headers), run_id, key === undefined)
  }
}

export interface AdmittedRun {
  readonly run_id: string
  /** The key of the request, where it has one. */
  readonly key: string | undefined
  /** The key had this run already. */
  readonly replayed: boolean
}

/** Admits a run, or finds the one that the request's Idempotency-Key has; else the request is refused. */
export async function admitRun(
  parts: RouteDependencies,
  request: FastifyRequest,
  plan: Plan,
  run: RunRequest,
): Promise<AdmittedRun> {
  const key = idempotencyKey(request)
  checkNotify(run.options.notify, parts.notify)
  const first = yieldIfLarge(request)
  if (first !== null) await first
  const idempotency = key === undefined ? null : { key, fingerprint: await fingerprint(run) }
  const second = yieldIfLarge(request)
  if (second !== null) await second
  const admitted = await parts.runs.admit(
    plan,
    {
      caller: callerOf(request),
      request: { ...run, ...traceOf(request), ...(parts.readsBaggage && baggageOf(request)) },
      idempotency,
    },
    tenantOf(request),
  )
  if (admitted.outcome === "refused") throw new HttpError(admitted.error)
  if (admitted.outcome === "conflict") throw keyTaken()
  return { run_id: admitted.run_id, key, replayed: admitted.outcome === "exists" }
}

/** Sends the events of a run after one of them. The reply is hijacked. */
export function streamRun(
  { store, streams }: RouteDependencies,
  reply: FastifyReply,
  run_id: string,
  after: number,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  return streams.send(
    reply.raw,
    { ...corsOf(reply), ...headers },
    (signal) => store.follow(run_id, after, signal),
    new StreamPartials((from, limit) => store.read(run_id, from, limit)),
  )
}

function modeOf(request: FastifyRequest): Mode {
  const { accept } = request.headers
  // Few requests name the stream's type. Looking for its name takes less time than reading the list.
  const named = accept !== undefined && /event-stream/i.test(accept)
  if (named && (readQualityList(accept).get("text/event-stream") ?? 0) > 0) return "stream"
  return preferencesOf(request.headers["prefer"]).has("respond-async") ? "async" : "json"
}

/** 202 with the present status, which for a replay may be the final one. */
async function answerStarted(parts: RouteDependencies, reply: FastifyReply, run_id: string): Promise<FastifyReply> {
  const status = await parts.runs.status(run_id)
  if (status === null) throw runExpired()
  return reply
    .code(202)
    .headers({ location: `/execute/${run_id}`, "preference-applied": "respond-async" })
    .send({ run_id, status } satisfies StartedAnswer)
}

async function answerEnding(
  parts: RouteDependencies,
  reply: FastifyReply,
  run_id: string,
  cancelWhenGone: boolean,
): Promise<FastifyReply> {
  const { gone, stop } = clientGone(reply)
  let end: LogEvent | null
  try {
    end = await parts.runs.ending(run_id, gone)
  } catch (error) {
    throw isStoreTrouble(error) ? storeFailed(run_id) : error
  }
  stop()
  if (gone.isGiven) {
    if (cancelWhenGone) await clientLeft(parts, reply.request, run_id)
    reply.hijack()
    return reply
  }
  if (end?.type === "run_waiting") return answerWaiting(parts, reply, run_id, readWaitingFor(end.data))
  if (end !== null) return answerEnd(reply, end)
  throw unended(parts, run_id)
}

/** The client that waited for a run has left, which cancels the run. */
export async function clientLeft(
  { runs, audit }: RouteDependencies,
  request: FastifyRequest,
  run_id: string,
): Promise<void> {
  if (await runs.clientLeft(run_id)) audit({ act: "cancelled", run_id, caller: callerOf(request) })
}

/** The service stops before the run has ended, or the run was deleted. */
export function unended({ runs }: RouteDependencies, run_id: string): HttpError {
  if (!runs.isDraining) return runExpired()
  return runs.areKept
    ? goesOn(run_id, "The service is shutting down, and the run goes on when it is back.")
    : new HttpError({ kind: "overloaded", message: runIsLost, issues: [] }, { "retry-after": "5" }, run_id)
}

function storeFailed(run_id: string): HttpError {
  return goesOn(run_id, "The store failed while the run was under way, so that its end is not known.")
}

/** The run has not ended for this client, who can ask for it later. */
function goesOn(run_id: string, why: string): HttpError {
  const location = `/execute/${run_id}`
  const error = { kind: "overloaded", message: `${why} Ask for it later: GET ${location}`, issues: [] } as const
  return new HttpError(error, { location, "retry-after": "5" }, run_id)
}

/** Questions of a run that has waited before are not all open. */
const readTogether = 100

/** 202: the run goes on without the client, when one of these has ended. */
async function answerWaiting(
  parts: RouteDependencies,
  reply: FastifyReply,
  run_id: string,
  { questions, batches, waits, budget }: WaitingFor,
): Promise<FastifyReply> {
  const wanted = new Set(questions)
  const read = (_limit: number, after: string | null): Promise<QuestionPage> =>
    parts.store.questions.ofRun(run_id, readTogether, after)
  const { page, next } = await parts.answers.make(reply.request, () =>
    writeQuestions(wanted.size, null, read, ({ id }) => wanted.has(id)),
  )
  const isCut = next !== null && page.size < wanted.size
  const fields: Omit<WaitingAnswer, "questions"> = {
    run_id,
    status: "waiting",
    batches,
    waits,
    ...(budget !== undefined && { budget }),
  }
  return reply
    .code(202)
    .header("location", `/execute/${run_id}`)
    .type(jsonType)
    .send(page.write("questions", { before: fields, ...(isCut && { after: { next } }) }))
}

function answerEnd(reply: FastifyReply, end: LogEvent): FastifyReply {
  switch (end.type) {
    case "workflow_completed":
      return reply.type(jsonType).send(JSON.stringify(end.data.output.result))
    case "workflow_failed":
      return sendError(reply, end.data.error)
    case "workflow_cancelled":
      return sendError(reply, { kind: "cancelled", message: "The run was cancelled", issues: [] })
    default:
      throw new Error(`${end.type} ends no run`)
  }
}

/** Given when the client closes the connection. `stop` ends the listening. */
export function clientGone(reply: FastifyReply): { readonly gone: LightSignal; readonly stop: () => void } {
  const gone = new LightSignal()
  const onClose = (): void => gone.give()
  reply.raw.once("close", onClose)
  // The client may have left before this: `close` is emitted only once.
  if (reply.raw.closed) onClose()
  return { gone, stop: () => reply.raw.off("close", onClose) }
}
