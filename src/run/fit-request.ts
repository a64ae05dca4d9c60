import type { JsonObject } from "../base/json-value.ts"
import { validateValue } from "../types/validate-value.ts"
import type { Plan } from "../plan/plan-shape.ts"
import type { ErrorIssue, WireError } from "./events.ts"
import { wireError } from "./failure.ts"
import { secretsOverLimits } from "./secrets/secret-limits.ts"

/** What of `input` and `secrets` does not fit the workflow's blocks, or is over the limits; null when all is well. */
export function validateRequest(plan: Plan, input: JsonObject, secrets: JsonObject): WireError | null {
  let [first, ...rest]: ErrorIssue[] = [
    ...validateValue(input, plan.input, plan.types, "input"),
    ...validateValue(secrets, plan.secrets, plan.types, "secrets", { values: "hidden" }),
  ].map(({ path, message, hint }) => (hint === undefined ? { path, message } : { path, message, hint }))
  if (first === undefined) [first, ...rest] = secretsOverLimits(secrets)
  return first === undefined ? null : wireError("input_error", [first, ...rest])
}
