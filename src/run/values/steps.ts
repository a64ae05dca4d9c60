import type { JsonValue } from "../../base/json-value.ts"

/** Work in steps. Each step is short: `null` is a place to rest at, a promise is a value to wait for and to hand back. */
export type Steps<Result> = Generator<Promise<JsonValue> | null, Result, JsonValue>

/** Does all steps without a rest. */
export function toEnd<Result>(steps: Steps<Result>): Result {
  let step = steps.next(null)
  while (step.done !== true) step = steps.next(null)
  return step.value
}
