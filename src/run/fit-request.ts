import type { JsonObject } from "../base/json-value.ts"
import { validateValue } from "../types/validate-value.ts"
import type { Plan } from "../plan/plan-shape.ts"
import type { WireError } from "./events.ts"
import { wireError } from "./failure.ts"

/** What of `input` and `secrets` does not fit the workflow's blocks; null when all of it does. */
export function validateRequest(plan: Plan, input: JsonObject, secrets: JsonObject): WireError | null {
  const [first, ...rest] = [
    ...validateValue(input, plan.input, plan.types, "input"),
    ...validateValue(secrets, plan.secrets, plan.types, "secrets", { values: "hidden" }),
  ].map(({ path, message, hint }) => (hint === undefined ? { path, message } : { path, message, hint }))
  return first === undefined ? null : wireError("input_error", [first, ...rest])
}
