import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { ReleasePlan } from "../../plan/plan-release.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import { evaluate } from "../../run/values/evaluate.ts"
import { EvaluationWork } from "../../run/values/evaluation-work.ts"
import { emptyScope } from "../../run/values/scope.ts"
import type { Figures } from "./figures.ts"
import { asValue, type ScoreFigures } from "./score-figures.ts"

/** Fewer ended runs say nothing. */
export const leastRuns = 20

/** What `stop_when` is judged by. */
export interface Judged {
  readonly current: Figures
  readonly candidate: Figures
  /** Null without shadows. */
  readonly agreement: number | null
  readonly shadows: number
  /** What scores say of each side. Absent where no rule names them. */
  readonly scores?: { readonly current: ScoreFigures; readonly candidate: ScoreFigures }
}

/** Whether a candidate is to stop. False while one of the figures that its rule names is not known, or is that of too few runs. */
export function mustStop({ stop_when, names, functions }: ReleasePlan, judged: Judged): boolean {
  if (stop_when === null || !names.every((name) => isKnown(name, judged))) return false
  const { candidate, current, agreement, scores } = judged
  const side = (figures: Figures, own: ScoreFigures | undefined): JsonObject => ({
    ...(figures as object as JsonObject),
    ...(own && { scores: asValue(own) }),
  })
  const values: [string, JsonValue][] = [
    ...Object.entries(side(candidate, scores?.candidate)),
    ["agreement", agreement],
    ["current", side(current, scores?.current)],
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

function isKnown(name: string, { candidate, current, agreement, shadows, scores }: Judged): boolean {
  if (name === "agreement") return shadows >= leastRuns && agreement !== null
  const isOfCurrent = name.startsWith("current.")
  const side = isOfCurrent ? current : candidate
  const [key = "", score = ""] = (isOfCurrent ? name.slice("current.".length) : name).split(".")
  if (side.runs < leastRuns) return false
  if (key === "scores") return scores?.[isOfCurrent ? "current" : "candidate"][score] !== undefined
  return side[key as keyof Figures] !== null
}
