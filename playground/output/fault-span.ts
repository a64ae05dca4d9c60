import type { ApiError, ApiErrorKind } from "../../src/api/error-kinds.ts"
import { isJsonObject } from "../../src/base/is-json-object.ts"
import type { JsonValue } from "../../src/base/json-value.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import type { ErrorIssue } from "../../src/log/events.ts"
import type { Span } from "../../src/source/span.ts"
import type { RunSlots } from "../../src/check/declared-places.ts"
import { pathSpan } from "../../src/check/declared-places.ts"

/** The place in the source where an error is fixed: the property that caused it, where that is known. */
export function faultSpan(places: RunSlots, plan: Plan | undefined, { kind, issues }: ApiError): Span | undefined {
  for (const issue of issues) {
    const cause = plan === undefined ? undefined : causeOf(plan, kind, issue)
    const span = rangeOf(issue) ?? pathSpan(places, cause ?? "") ?? pathSpan(places, issue.path)
    if (span !== undefined) return span
  }
  return undefined
}

/** The setting that an agent's call failed for. */
function causeOf(plan: Plan, kind: ApiErrorKind, { path, upstream_status: status }: ErrorIssue): string | undefined {
  if (kind !== "provider_error" && (kind !== "timeout" || path.includes(".limits."))) return undefined
  const node = plan.nodes.find(({ id }) => path === id || path.startsWith(`${id}[`) || path.startsWith(`${id}.`))
  // The last model of a list failed too.
  const model = node?.kind === "agent" ? node.models.at(-1)?.name : undefined
  const provider = model === undefined ? undefined : plan.models[model]?.provider
  if (model === undefined || provider === undefined) return undefined
  if (kind === "timeout") return `model.${model}.inference.timeout_seconds`
  if (status === 404) return `model.${model}.id`
  if (status === 401 || status === 403) return `provider.${provider}.api_key`
  return status === undefined ? `provider.${provider}.endpoint` : undefined
}

/** Of a place in the main source: one in a code file is found by the path of what names it. */
function rangeOf({ range, file }: ErrorIssue): Span | undefined {
  if (file !== undefined) return undefined
  const [start, end] = [offsetOf(range, "start"), offsetOf(range, "end")]
  return start === undefined || end === undefined ? undefined : { start, end }
}

function offsetOf(range: JsonValue | undefined, side: "start" | "end"): number | undefined {
  const position = isJsonObject(range) ? range[side] : undefined
  const offset = isJsonObject(position) ? position["offset"] : undefined
  return typeof offset === "number" ? offset : undefined
}
