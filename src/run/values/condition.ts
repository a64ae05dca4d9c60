import type { WhenPlan } from "../../plan/plan-shape.ts"
import { describe, problem, type Scope } from "./scope.ts"
import { evaluateEffects, type Effects } from "./evaluate-effects.ts"
import type { JsonValue } from "../../base/json-value.ts"

/** Whether a step runs. */
export function decide(when: WhenPlan, scope: Scope, effects: Effects): boolean | Promise<boolean> {
  const check = (value: JsonValue): boolean => {
    if (typeof value === "boolean") return value
    throw problem(when.text, `a condition is a boolean, found ${describe(value)}`, scope)
  }
  const value = evaluateEffects(when.condition, scope, effects)
  return value instanceof Promise ? value.then(check) : check(value)
}
