import type { FastifyInstance, FastifyRequest } from "fastify"
import * as api from "../../api/sent-events.ts"
import { defaultLimit } from "../../api/page.ts"
import { isoTime } from "../../base/iso-time.ts"
import { idOf, mostEventBytes, mostEventIds, mostKeptEvents } from "../../ports/event-store.ts"
import { eventKey, type Wait } from "../../ports/waits.ts"
import { sendEvent, type EventResult } from "../../run/waiting/send-event.ts"
import { callerOf, tenantOf } from "../caller-of.ts"
import { listNeedsKeys } from "../callers.ts"
import { HttpError, refuse, refuseAt } from "../http-error.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { serve } from "../serve-route.ts"

/** Routes for events that callers send to their waiting runs. */
export function eventRoutes(app: FastifyInstance, parts: RouteDependencies, isOpenToStrangers: boolean): void {
  const ownCaller = (request: FastifyRequest, what: string): string => {
    if (isOpenToStrangers) throw listNeedsKeys(what)
    return callerOf(request)
  }
  const { sentEvents } = parts.store

  serve(app, api.sendEvent, async (request, reply): Promise<api.SentEventAnswer> => {
    const caller = ownCaller(request, "events")
    const { name, key, data = null, id, keep_seconds } = request.body
    if (Buffer.byteLength(JSON.stringify(request.body)) > mostEventBytes) {
      throw refuse("payload_too_large", `An event has at most ${mostEventBytes} bytes of JSON`)
    }
    const event = {
      caller,
      everyone: false,
      id: id ?? null,
      source: "",
      name,
      key: key ?? "",
      data,
      keep_seconds: keep_seconds ?? 0,
    }
    const { answer, number } = taken(parts, await sendEvent(eventParts(parts, tenantOf(request)), event))
    void reply.code(202)
    return { id: idOf({ id: event.id, number }), ...answer }
  })

  serve(app, api.listEvents, async (request): Promise<api.KeptEvents> => {
    const caller = ownCaller(request, "events")
    const { limit = defaultLimit, after } = request.query
    const page = await sentEvents.kept(caller, limit + 1, positionOf(after))
    const shown = page.slice(0, limit)
    const last = page.length > limit ? shown.at(-1) : undefined
    return {
      events: shown.map((event) => ({
        id: idOf(event),
        name: event.name,
        key: event.key,
        data: event.data,
        received_at: isoTime(event.received_at),
        keep_until: isoTime(event.keep_until ?? event.received_at),
      })),
      next: last === undefined ? null : String(last.number),
    }
  })

  serve(app, api.dropEvent, async (request, reply) => {
    const caller = ownCaller(request, "events")
    if (!(await sentEvents.drop(caller, request.params.id))) throw refuse("not_found", "No such event is kept")
    return reply.code(204).send()
  })

  serve(app, api.listWaits, async (request): Promise<api.ListedWaits> => {
    const caller = ownCaller(request, "waits")
    const { event, key, limit = defaultLimit, after } = request.query
    return listWaits(parts, caller, { event, key }, limit, after)
  })
}

const kinds = ["event", "time"] as const

interface WaitsWanted {
  readonly event: string | undefined
  readonly key: string | undefined
}

/** Waits for events come first. A position says of which kind its wait is. */
async function listWaits(
  { store }: RouteDependencies,
  caller: string,
  { event, key }: WaitsWanted,
  limit: number,
  after: string | undefined,
): Promise<api.ListedWaits> {
  const waits: api.ListedWaits["waits"][number][] = []
  const [kindAfter, position] = /^(event|time)\.(\d*)$/.exec(after ?? "event.")?.slice(1) ?? []
  const first = kinds.findIndex((kind) => kind === kindAfter)
  if (first < 0) throw refuseAt("invalid_request", "after", "`after` must be the `next` of another page")
  const wanted = event !== undefined && key !== undefined ? eventKey(event, key) : undefined
  for (const kind of kinds.slice(first)) {
    if (kind === "time" && (event !== undefined || key !== undefined)) break
    let from = kind === kindAfter && position !== "" ? (position ?? null) : null
    for (;;) {
      const filter = { caller, ...(kind === "event" && wanted !== undefined && { key: wanted }) }
      const left = limit - waits.length
      if (left === 0) return { waits, next: `${kind}.${from ?? ""}` }
      const page = await store.waits.list<"event" | "time">({
        kind,
        status: "open",
        any: [filter],
        limit: left,
        after: from,
      })
      const fits = ({ about }: Wait<"event" | "time">): boolean =>
        (event === undefined || about.event === event) && (key === undefined || about.key === key)
      for (const { wait } of page.found) if (fits(wait)) waits.push(shown(wait))
      if (page.next === null) break
      from = page.next
    }
  }
  return { waits, next: null }
}

function shown({ run_id, about }: Wait<"event" | "time">): api.ListedWaits["waits"][number] {
  const { id, name, event, key, until, expires_at } = about
  return {
    id,
    run_id,
    name,
    ...(event !== undefined && { event, key: key ?? "" }),
    ...(until !== undefined && { until }),
    ...(expires_at !== undefined && { expires_at }),
  }
}

function positionOf(after: string | undefined): number {
  const position = Number(after ?? 0)
  if (Number.isSafeInteger(position) && position >= 0) return position
  throw refuseAt("invalid_request", "after", "`after` must be the `next` of another page")
}

/** What sending an event needs of the service. */
export function eventParts(parts: RouteDependencies, share: string): Parameters<typeof sendEvent>[0] {
  return {
    store: parts.store,
    planOf: (source) => parts.planOf(source, share),
    serverSecrets: (workflow, names) => parts.serverSecrets.of(workflow, names),
  }
}

/** The answer to an event that was stored; all else is an error. */
export function taken(
  { countEvent }: Pick<RouteDependencies, "countEvent">,
  result: EventResult,
): Extract<EventResult, { readonly outcome: "taken" }> {
  if (result.outcome === "taken") {
    countEvent(result.answer.delivered > 0 ? "delivered" : result.answer.kept ? "kept" : "unmatched")
    return result
  }
  countEvent("refused")
  if (result.outcome === "misfit") throw new HttpError(result.error)
  if (result.outcome === "conflict") throw refuse("conflict", "Another event has this id")
  const what = result.of === "ids" ? `${mostEventIds} ids of events within 30 days` : `${mostKeptEvents} events kept`
  const message = `A caller may have ${what} at a time`
  throw new HttpError({ kind: "overloaded", message, issues: [] }, { "retry-after": "60" }, undefined, 429)
}
