import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { parseInOrder } from "../../base/ordered-object.ts"
import type { Calendar } from "../../plan/schedule-times.ts"
import type { EventPlan, SchedulePlan, WebhookPlan } from "../../plan/plan-triggers.ts"
import type { KeptOutput } from "../../ports/trigger-store.ts"
import { mostEventBytes, mostKeyLength } from "../../ports/event-store.ts"
import { failure } from "../../ports/run-failure.ts"
import { evaluate } from "../../run/values/evaluate.ts"
import { EvaluationWork } from "../../run/values/evaluation-work.ts"
import { validateValue } from "../../types/validate-value.ts"
import { emptyScope, type Scope } from "../../run/values/scope.ts"

// The values of a trigger's expressions. There is no run yet: they see what the trigger brings and nothing else.

/** A delivery, as expressions see it. */
export interface Delivery {
  readonly body: JsonValue
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly query: Readonly<Record<string, string>>
}

/** The input of a schedule's run. Throws a `RunFailure`. */
export function scheduledInput(
  { name, input, functions, previous: wanted }: SchedulePlan,
  calendar: Calendar,
  at: number,
  kept: KeptOutput | null,
): JsonObject {
  const due = { at: calendar.show(at), date: calendar.date(at) }
  const variables = new Map<string, JsonValue>([["due", due]])
  if (wanted !== undefined) {
    const due_at = kept === null ? null : calendar.show(kept.due_at)
    variables.set("previous", { output: fittingOutput(wanted, kept), due_at })
  }
  return inputOf(input, scopeOf(`schedule.${name}.input`, variables, functions))
}

/** Null where the output is none that the file has now. */
function fittingOutput({ output, types }: NonNullable<SchedulePlan["previous"]>, kept: KeptOutput | null): JsonValue {
  const value = kept?.output ? (parseInOrder(kept.output) as JsonValue) : null
  return value === null || validateValue(value, output, types, "previous.output").length > 0 ? null : value
}

/** The input of a delivery's run; null where its condition does not hold. Throws a `RunFailure`. */
export function deliveredInput(webhook: WebhookPlan, delivery: Delivery): JsonObject | null {
  const { input } = webhook
  const scope = wantedScope(webhook, delivery)
  return scope === null ? null : inputOf(input, { ...scope, path: `${scope.path}.input` })
}

/** The event that a delivery is; null where the condition of its webhook does not hold. Throws a `RunFailure`. */
export function deliveredEvent(
  webhook: WebhookPlan,
  { key, data }: EventPlan,
  delivery: Delivery,
): { readonly key: string; readonly data: JsonValue } | null {
  const scope = wantedScope(webhook, delivery)
  if (scope === null) return null
  const at = (part: string): Scope => ({ ...scope, path: `${scope.path}.event.${part}` })
  const written = key === null ? "" : evaluate(key, at("key"))
  if (typeof written !== "string") throw failure("evaluation_error", at("key").path, "`key` must be a string")
  if (written.length > mostKeyLength) {
    throw failure("input_error", at("key").path, `\`key\` has more than ${mostKeyLength} characters`)
  }
  const event = { key: written, data: data === null ? null : inputOf(data, at("data")) }
  if (Buffer.byteLength(JSON.stringify(event)) <= mostEventBytes) return event
  throw failure("payload_too_large", at("data").path, `An event has at most ${mostEventBytes} bytes of JSON`)
}

/** What the expressions of a webhook see; null where its condition does not hold. */
function wantedScope(webhook: WebhookPlan, delivery: Delivery): Scope | null {
  const { name, when, functions } = webhook
  const path = `webhook.${name}`
  const variables = variablesOf(webhook, delivery)
  if (when !== null) {
    const scope = scopeOf(`${path}.when`, variables, functions)
    const holds = evaluate(when, scope)
    if (typeof holds !== "boolean") throw failure("evaluation_error", scope.path, "`when` must be true or false")
    if (!holds) return null
  }
  return scopeOf(path, variables, functions)
}

function variablesOf({ headers, queries }: WebhookPlan, delivery: Delivery): ReadonlyMap<string, JsonValue> {
  const header = headers.map((name): [string, JsonValue] => {
    const value = delivery.headers[name.toLowerCase()]
    return [name, value === undefined ? null : typeof value === "string" ? value : value.join(", ")]
  })
  const query = queries.map((name): [string, JsonValue] => {
    return [name, Object.hasOwn(delivery.query, name) ? (delivery.query[name] ?? null) : null]
  })
  return new Map<string, JsonValue>([
    ["body", delivery.body],
    ["header", Object.fromEntries(header)],
    ["query", Object.fromEntries(query)],
  ])
}

function inputOf(entries: SchedulePlan["input"], scope: Scope): JsonObject {
  return Object.fromEntries(
    entries.map(({ key, value }) => [key, evaluate(value, { ...scope, path: `${scope.path}.${key}` })]),
  )
}

function scopeOf(path: string, variables: ReadonlyMap<string, JsonValue>, functions: Scope["functions"]): Scope {
  return { ...emptyScope, variables, path, ...(functions && { functions }), work: new EvaluationWork() }
}
