import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonValue } from "../../base/json-value.ts"
import type { WireError } from "../../log/events.ts"
import { planAt } from "../../plan/call-scope.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import type { EventAnswer, NewEvent, SentEvent } from "../../ports/event-store.ts"
import { wireError } from "../../ports/run-failure.ts"
import { isStoreTrouble, StoreFailure, type RunStore } from "../../ports/store.ts"
import { eventKey, type Wait, type WaitFilter, type WaitPage } from "../../ports/waits.ts"
import type { SourceText } from "../../source/source-files.ts"
import type { RecordType, TypeTable } from "../../types/types.ts"
import { validateValue } from "../../types/validate-value.ts"
import { withNulls } from "../../types/with-nulls.ts"
import { redactor } from "../secrets/redact.ts"
import { secretsOfRun, type ServerSecrets } from "../secrets/secrets-of-run.ts"

export interface EventParts {
  readonly store: RunStore
  readonly serverSecrets?: ServerSecrets | undefined
  planOf(source: SourceText): Promise<{ readonly plan: Plan } | { readonly error: WireError }>
}

/** What becomes of an event that somebody sends. `misfit`: waits are open, and it fits none; nothing of it is remembered. */
export type EventResult =
  | { readonly outcome: "taken"; readonly number: number; readonly answer: EventAnswer }
  | { readonly outcome: "misfit"; readonly error: WireError }
  | { readonly outcome: "conflict" }
  | { readonly outcome: "full"; readonly of: "ids" | "kept" }

/** Waits that are read together. */
const pageWaits = 100

/** Stores an event, and then gives it to every open wait that it fits. */
export async function sendEvent(parts: EventParts, event: NewEvent): Promise<EventResult> {
  const receipt = await parts.store.sentEvents.receive(event)
  if (receipt.outcome === "conflict" || receipt.outcome === "full") return receipt
  if (receipt.outcome === "known" && receipt.answer !== null) {
    const { number, answer } = receipt
    return { outcome: "taken", number, answer }
  }
  // Also where the process that received it before has died.
  return finishEvent(parts, receipt.number)
}

/** Gives an event that arrives to the waits that are open, and stores what became of it. Several processes may do so at once. */
export async function finishEvent(parts: EventParts, number: number): Promise<EventResult> {
  const { store } = parts
  const event = await store.sentEvents.one(number)
  const misfit = event?.status === "arriving" ? await giveToWaits(parts, event) : null
  const answer = await store.sentEvents.close(number, misfit !== null)
  if (misfit !== null && answer.delivered === 0 && !answer.kept) return { outcome: "misfit", error: misfit }
  return { outcome: "taken", number, answer }
}

/** Why it does not fit the first of the waits that it does not fit; null where it fits all. */
async function giveToWaits(parts: EventParts, event: SentEvent): Promise<WireError | null> {
  const { waits, sentEvents } = parts.store
  const key = eventKey(event.name, event.key)
  const whose: WaitFilter = event.everyone ? { key } : { caller: event.caller, key }
  let misfit: WireError | null = null
  for (let after: string | null = null; ;) {
    const page: WaitPage<"event"> = await waits.list({
      kind: "event",
      status: "open",
      any: [whose],
      limit: pageWaits,
      after,
    })
    // Together, so that the store commits them together.
    const misfits = await Promise.all(
      page.found.map(async ({ wait }) => {
        const fitted = await fitWait(parts, wait, event.data)
        if (fitted !== null && "error" in fitted) return fitted.error
        if (fitted !== null) await sentEvents.deliver(event.number, wait.run_id, wait.id, fitted.data)
        return null
      }),
    )
    misfit ??= misfits.find((one) => one !== null) ?? null
    if (page.next === null) return misfit
    after = page.next
  }
}

type Fitted = { readonly data: JsonValue } | { readonly error: WireError }

/** The data as a wait takes it: with nulls for what may be left out, and without the secrets of its run. Null: the run is damaged or gone, which keeps nothing from the others. */
async function fitWait(parts: EventParts, { run_id, about }: Wait<"event">, data: JsonValue): Promise<Fitted | null> {
  const request = await parts.store.request(run_id).catch((error: unknown) => {
    if (error instanceof StoreFailure && !isStoreTrouble(error)) return null
    throw error
  })
  if (request === null) return null
  const compiled = await parts.planOf(request)
  if ("error" in compiled) return compiled
  const { plan } = compiled
  const own = planAt(plan, about.scope) ?? plan
  const node = own.nodes.find((one) => one.kind === "wait" && one.name === about.name)
  if (node?.kind !== "wait" || node.awaits.kind !== "event") throw new Error(`The plan has no wait ${about.name}`)
  const fitted = fitData(data, node.awaits.output, own.types)
  if ("error" in fitted) return fitted
  return { data: redactor(secretsOfRun(plan, request, parts.serverSecrets)).redact(fitted.data) }
}

export function fitData(given: JsonValue, type: RecordType, types: TypeTable): Fitted {
  const data = isJsonObject(given) ? withNulls(given, type, types) : given
  const [first, ...others] = validateValue(data, type, types, "data").map(({ path, message, hint }) =>
    hint === undefined ? { path, message } : { path, message, hint },
  )
  return first === undefined ? { data } : { error: wireError("input_error", [first, ...others]) }
}
