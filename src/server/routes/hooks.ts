import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import { deliver, type TriggeredAnswer, type DeliveredEventAnswer } from "../../api/triggers.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { WebhookPlan } from "../../plan/plan-triggers.ts"
import type { Signature } from "../../workflows/triggers/webhook-signature.ts"
import { deliveryOf, isSigned, readSignature } from "../../workflows/triggers/webhook-signature.ts"
import type { FoundTrigger, Triggers } from "../../workflows/triggers/triggers.ts"
import { HttpError, refuse } from "../http-error.ts"
import type { EventResult } from "../../run/waiting/send-event.ts"
import type { RateLimit } from "../rate-limit.ts"
import type { RouteDependencies, ServerLog } from "../route-dependencies.ts"
import { patternOf } from "../serve-route.ts"
import { ThrottledLog } from "../throttled-log.ts"
import { hookBytes } from "../../base/limits.ts"
import { closeAfter } from "../arriving-bodies.ts"
import { announcedBytes, smallBody } from "../read-body.ts"
import { jsonType } from "../list-page.ts"
import { clientGone } from "../start-run.ts"
import { taken } from "./events.ts"
import { readDelivery } from "./delivery-body.ts"

/** A delivery whose header could be read. */
interface Claim {
  readonly found: FoundTrigger<WebhookPlan>
  readonly signature: Signature
  readonly secrets: readonly string[]
}

const claims = new WeakMap<FastifyRequest, Claim>()

/** Deliveries to webhooks. `limit` counts those whose signature is right, by webhook; before that the address counts. */
export function hookRoutes(app: FastifyInstance, parts: RouteDependencies, limit: RateLimit, maxBody: number): void {
  const { triggers, runs } = parts
  if (triggers === null) return
  const failures = new RefusedDeliveries(parts.log)
  app.addHook("onClose", (_, done) => {
    failures.close()
    done()
  })
  // A scope of its own, so that a body of any type arrives as the bytes that were signed.
  void app.register((hooks, _options, done) => {
    hooks.removeAllContentTypeParsers()
    hooks.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, parsed) => parsed(null, body))
    hooks.route({
      method: "POST",
      url: patternOf(deliver.path),
      bodyLimit: Math.min(hookBytes, maxBody),
      config: { body: "none", isDelivery: true },
      onRequest: (request, reply) =>
        claimOf(request, triggers, failures).catch((error: unknown) => {
          if (announcedBytes(request) > smallBody) closeAfter(reply.raw)
          throw error
        }),
      handler: (request, reply) =>
        answer(request, reply, { triggers, runs, limit, failures, countEvent: parts.countEvent }),
    })
    done()
  })
}

/** Before the body is read: which webhook it is for, and whether the signature can be one. */
async function claimOf(request: FastifyRequest, triggers: Triggers, failures: RefusedDeliveries): Promise<void> {
  // Fastify refuses a body whose type it cannot read, before the signature is looked at.
  const { headers } = request.raw
  if (!/^[^\s/;]+\/[^\s/;]+/.test(headers["content-type"] ?? "a/a"))
    headers["content-type"] = "application/octet-stream"
  await triggers.ready
  const path = (request.params as { readonly "*": string })["*"]
  const end = path.lastIndexOf("/")
  const found = triggers.find(path.slice(0, Math.max(end, 0)), path.slice(end + 1))
  if (found === undefined || !isWebhook(found)) throw refuse("not_found", "There is no such webhook")
  const signature = readSignature(found.plan.verify, request.headers, triggers.now)
  if (signature === null) {
    const sentence = "The signature is missing, malformed or too old"
    failures.count(found, sentence)
    throw refuse("unauthorized", sentence)
  }
  const secrets = triggers.secretsOf(found)
  if (secrets.length === 0) {
    failures.count(found, "The secret is missing or too short")
    throw refuse("overloaded", "This webhook has no secret yet that deliveries could be checked with", [], later)
  }
  claims.set(request, { found, signature, secrets })
}

const later = { "retry-after": "60" }

interface Taking {
  readonly triggers: Triggers
  readonly runs: RouteDependencies["runs"]
  readonly limit: RateLimit
  readonly countEvent: RouteDependencies["countEvent"]
  readonly failures: RefusedDeliveries
}

async function answer(request: FastifyRequest, reply: FastifyReply, parts: Taking): Promise<FastifyReply> {
  const claim = claims.get(request)
  if (claim === undefined) throw new Error("A delivery was read before its header")
  try {
    return await take(request, reply, parts, claim)
  } catch (error) {
    // Only our own sentences are logged: others may quote the delivery.
    const { kind, message } = error instanceof HttpError ? error.error : { kind: null, message: "" }
    if (kind !== null) parts.failures.count(claim.found, kind === "unauthorized" ? message : kind)
    throw error
  }
}

async function take(
  request: FastifyRequest,
  reply: FastifyReply,
  { triggers, runs, limit, countEvent }: Taking,
  { found, signature, secrets }: Claim,
): Promise<FastifyReply> {
  const { verify } = found.plan
  const body = request.body instanceof Buffer ? request.body : Buffer.alloc(0)
  if (!isSigned(verify, signature, body, secrets)) throw refuse("unauthorized", "The signature is wrong")
  limit.take(`webhook:${found.workflow.name} ${found.plan.name}`, performance.now())
  const parsed = await readDelivery(verify, request.headers["content-type"], body, request.routeOptions.bodyLimit)
  if (verify.scheme === "slack" && isJsonObject(parsed) && parsed["type"] === "url_verification") {
    const { challenge } = parsed
    return reply.type("text/plain; charset=utf-8").send(typeof challenge === "string" ? challenge : "")
  }
  const delivery = { body: parsed, headers: request.headers, query: queryOf(request) }
  const delivered = await triggers.deliver(found, delivery, deliveryOf(verify, request.headers, body, parsed))
  if (delivered === "paused") throw refuse("overloaded", "This webhook is paused: try again later", [], later)
  if (delivered === "unwanted") return reply.code(204).send()
  if ("error" in delivered) throw refusalOf(delivered.error)
  if ("event" in delivered) return answerEvent(reply, countEvent, verify.scheme, delivered.event)
  const output = await outputInTime(found.plan, runs, delivered.run_id, reply)
  if (reply.raw.closed) return reply.hijack()
  if (output !== null) return reply.code(200).type(jsonType).send(output)
  if (verify.scheme === "slack") return reply.code(200).send()
  return reply.code(202).send({ run_id: delivered.run_id } satisfies TriggeredAnswer)
}

/** The sender learns whether its event was taken, and nothing of the runs that wait. */
function answerEvent(
  reply: FastifyReply,
  countEvent: RouteDependencies["countEvent"],
  scheme: WebhookPlan["verify"]["scheme"],
  result: EventResult,
): FastifyReply {
  if (result.outcome === "misfit") {
    countEvent("refused")
    throw refuse("input_error", "The event does not fit what is waited for")
  }
  const { answer } = taken({ countEvent }, result)
  if (scheme === "slack") return reply.code(200).send()
  const { delivered, kept } = answer
  return reply.code(202).send({ delivered, kept } satisfies DeliveredEventAnswer)
}

/** The output, as JSON, of a run that completes while its sender waits for it; null where it does not. */
async function outputInTime(
  { reply_within_seconds }: WebhookPlan,
  runs: RouteDependencies["runs"],
  run_id: string,
  reply: FastifyReply,
): Promise<string | null> {
  if (reply_within_seconds === null) return null
  const { gone, stop } = clientGone(reply)
  const timer = setTimeout(() => gone.give(), reply_within_seconds * 1000).unref()
  try {
    const end = await runs.ending(run_id, gone)
    return end?.type === "workflow_completed" ? JSON.stringify(end.data.output.result) : null
  } finally {
    clearTimeout(timer)
    stop()
  }
}

/** Problems that the sender cannot fix get a status that makes it try again later. */
function refusalOf(error: HttpError["error"]): HttpError {
  // The sender has no business with the budgets of this service.
  if (error.kind === "budget_exceeded") {
    const seconds = Math.max(1, ...error.issues.flatMap(({ retry_after }) => retry_after ?? []))
    return refuse("budget_exceeded", "The budget is used up: try again later", [], { "retry-after": String(seconds) })
  }
  const isFull = error.kind === "overloaded" || error.kind === "rate_limited"
  const isOurs = error.kind === "validation_error" || error.issues.some(({ path }) => path.startsWith("secrets"))
  if (!isFull && !isOurs) return new HttpError(error)
  const message = isFull
    ? "The service is at capacity: try again later"
    : "The workflow cannot run now: try again later"
  return refuse("overloaded", message, [], later)
}

function queryOf(request: FastifyRequest): Record<string, string> {
  const start = request.url.indexOf("?")
  return start < 0 ? {} : Object.fromEntries(new URLSearchParams(request.url.slice(start + 1)))
}

function isWebhook(found: FoundTrigger): found is FoundTrigger<WebhookPlan> {
  return found.plan.kind === "webhook"
}

const everyMs = 60_000

/** Refused deliveries: of each webhook the first is logged at once, then one line a minute. */
class RefusedDeliveries {
  readonly #log: ServerLog
  readonly #webhooks = new Map<string, ThrottledLog<{ readonly reason: string }>>()

  constructor(log: ServerLog) {
    this.#log = log
  }

  count({ workflow, plan }: FoundTrigger, reason: string): void {
    const id = `${workflow.name} ${plan.name}`
    let lines = this.#webhooks.get(id)
    if (lines === undefined) {
      const about = { workflow: workflow.name, webhook: plan.name }
      lines = new ThrottledLog(everyMs, (facts, times) =>
        this.#log.warn({ ...about, ...facts, times }, "delivery refused"),
      )
      this.#webhooks.set(id, lines)
    }
    lines.happened({ reason })
  }

  close(): void {
    for (const lines of this.#webhooks.values()) lines.close()
  }
}
