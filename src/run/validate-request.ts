import type { JsonObject } from "../base/json-value.ts"
import { validateValue } from "../types/validate-value.ts"
import { plansIn } from "../plan/plans-in.ts"
import type { Limits, Plan } from "../plan/plan-shape.ts"
import type { ErrorIssue, WireError } from "../log/events.ts"
import { wireError } from "../ports/run-failure.ts"
import { inputOf, unfulfilled } from "./values/input-of.ts"
import { secretsOverLimits } from "../ports/secret-limits.ts"

/**
 * What of `input` and `secrets` does not fit the workflow's blocks, or is over the limits, and a limit on cost for models without
 * prices; null when all is well.
 */
export function validateRequest(
  plan: Plan,
  given: JsonObject,
  secrets: JsonObject,
  limits: Limits | null = null,
): WireError | null {
  const input = inputOf(plan, given)
  let [first, ...rest]: ErrorIssue[] = [
    ...validateValue(input, plan.input, plan.types, "input"),
    ...validateValue(secrets, plan.secrets, plan.types, "secrets", { values: "hidden" }),
  ].map(({ path, message, hint }) => (hint === undefined ? { path, message } : { path, message, hint }))
  if (first === undefined) [first, ...rest] = unfulfilled(plan, input)
  if (first === undefined) [first, ...rest] = secretsOverLimits(secrets)
  if (first === undefined && limits?.cost !== undefined) [first, ...rest] = unpriced(plan)
  return first === undefined ? null : wireError("input_error", [first, ...rest])
}

/** The models that a limit on cost could not govern. */
function unpriced(plan: Plan): ErrorIssue[] {
  const names = new Set(
    plansIn(plan).flatMap(({ nodes, models }) =>
      nodes
        .flatMap((node) => (node.kind === "agent" ? [...node.models, ...(node.context?.compact?.models ?? [])] : []))
        .flatMap(({ name }) => (models[name]?.price === null ? [name] : [])),
    ),
  )
  return [...names].map((name) => ({
    path: "options.limits.cost",
    message: `model.${name} has no price, so its cost cannot be limited`,
    hint: `Add \`price { input: … output: … }\` to \`model ${name}\`.`,
  }))
}
