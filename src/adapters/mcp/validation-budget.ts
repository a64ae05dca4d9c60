import type { JsonValue } from "../../base/json-value.ts"
import { StepBudget } from "./step-budget.ts"

/** No validation takes more steps, whatever its value: a fifth of a second. */
const maxSteps = 1_000_000
/** What a schema in good faith needs for each part of a value. */
const stepsPerPart = 50
/** What the validations of one run may need beyond that, all together. */
const spareSteps = 1_000_000

/**
 * The steps that a run may spend on validation against the schemas of its servers. What grows with the values is free, up to a
 * limit; beyond that all calls share one budget, so that many calls cannot take more than one.
 */
export class ValidationBudget {
  #spare = spareSteps

  /** Does the work for a value; rejects with `OverBudget` when it takes more steps than there are. */
  spend<T>(value: JsonValue, work: (steps: StepBudget) => T): T {
    const usual = partsOf(value) * stepsPerPart
    const steps = new StepBudget(Math.min(maxSteps, usual + this.#spare))
    try {
      return work(steps)
    } finally {
      this.#spare = Math.max(0, this.#spare - Math.max(0, steps.used - usual))
    }
  }
}

/** How many parts a value has; long texts count for more than one. */
function partsOf(value: JsonValue): number {
  let parts = 0
  const open = [value]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    parts++
    if (typeof at === "string") parts += at.length / 10
    if (typeof at !== "object" || at === null) continue
    const items = Array.isArray(at) ? at : Object.values(at)
    if ((parts + items.length) * stepsPerPart > maxSteps) return maxSteps / stepsPerPart
    for (const item of items) open.push(item)
  }
  return Math.ceil(parts)
}
