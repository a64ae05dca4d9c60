import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { Calendar } from "../../plan/schedule-times.ts"
import type { SchedulePlan, WebhookPlan } from "../../plan/plan-triggers.ts"
import { failure } from "../../ports/run-failure.ts"
import { evaluate } from "../../run/values/evaluate.ts"
import { EvaluationWork } from "../../run/values/evaluation-work.ts"
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
export function scheduledInput({ name, input, functions }: SchedulePlan, calendar: Calendar, at: number): JsonObject {
  const due = { at: calendar.show(at), date: calendar.date(at) }
  return inputOf(input, scopeOf(`schedule.${name}.input`, new Map([["due", due]]), functions))
}

/** The input of a delivery's run; null where its condition does not hold. Throws a `RunFailure`. */
export function deliveredInput(webhook: WebhookPlan, delivery: Delivery): JsonObject | null {
  const { name, when, input, functions } = webhook
  const path = `webhook.${name}`
  const variables = variablesOf(webhook, delivery)
  if (when !== null) {
    const scope = scopeOf(`${path}.when`, variables, functions)
    const holds = evaluate(when, scope)
    if (typeof holds !== "boolean") throw failure("evaluation_error", scope.path, "`when` must be true or false")
    if (!holds) return null
  }
  return inputOf(input, scopeOf(`${path}.input`, variables, functions))
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
