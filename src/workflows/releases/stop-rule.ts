import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { ReleasePlan } from "../../plan/plan-release.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import { evaluate } from "../../run/values/evaluate.ts"
import { EvaluationWork } from "../../run/values/evaluation-work.ts"
import { emptyScope } from "../../run/values/scope.ts"
import type { Figures } from "./figures.ts"

/** Fewer ended runs say nothing. */
export const leastRuns = 20

/** What `stop_when` is judged by. */
export interface Judged {
  readonly current: Figures
  readonly candidate: Figures
  /** Null without shadows. */
  readonly agreement: number | null
  readonly shadows: number
}

/** Whether a candidate is to stop. False while one of the figures that its rule names is not known, or is that of too few runs. */
export function mustStop({ stop_when, names, functions }: ReleasePlan, judged: Judged): boolean {
  if (stop_when === null || !names.every((name) => isKnown(name, judged))) return false
  const { candidate, current, agreement } = judged
  const values: [string, JsonValue][] = [
    ...Object.entries(candidate as object as JsonObject),
    ["agreement", agreement],
    ["current", current as object as JsonObject],
  ]
  const scope = {
    ...emptyScope,
    variables: new Map(values),
    path: "release.stop_when",
    ...(functions && { functions }),
    work: new EvaluationWork(),
  }
  try {
    return evaluate(stop_when, scope) === true
  } catch (error) {
    // Such as a division by zero.
    if (error instanceof RunFailure) return false
    throw error
  }
}

function isKnown(name: string, { candidate, current, agreement, shadows }: Judged): boolean {
  if (name === "agreement") return shadows >= leastRuns && agreement !== null
  const [side, key] = name.startsWith("current.") ? [current, name.slice("current.".length)] : [candidate, name]
  return side.runs >= leastRuns && side[key as keyof Figures] !== null
}
