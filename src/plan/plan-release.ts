import { numberIn } from "../check/constants.ts"
import { countedScore, type CountedScore } from "../check/counted-score.ts"
import type { Program } from "../check/program.ts"
import { eachChain } from "../syntax/each-chain.ts"
import { expressionIn } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Expression } from "./expression.ts"
import { Lowering } from "./lower.ts"
import { planFunctions } from "./plan-functions.ts"
import type { Plan } from "./plan-shape.ts"

/** What a candidate gets of the traffic of its workflow. */
export interface ReleasePlan {
  readonly share: number
  /** Of the input; null: each run is chosen for itself. */
  readonly by: Expression | null
  readonly shadow: number
  /** Paths into the output; empty: all of it. */
  readonly agree_on: readonly (readonly string[])[]
  readonly stop_when: Expression | null
  /** The figures that `stop_when` names: `failed`, `current.cost`. */
  readonly names: readonly string[]
  /** The scores that `stop_when` may name. Absent where it names none. */
  readonly scores?: readonly (CountedScore & { readonly name: string })[]
  /** What its expressions may call. Absent where there is nothing. */
  readonly functions?: Pick<Plan, "functions" | "types">
}

const namesScores = /^(?:current\.)?scores\b/

/** Null for a program without a `release` block. */
export function planRelease(program: Program): ReleasePlan | null {
  const { release, functions, types } = program
  if (release === undefined) return null
  const { body } = release.declaration
  const plans = planFunctions(program)
  const lower = new Lowering(program, plans)
  const [by, stopWhen] = [expressionIn(body, "by"), expressionIn(body, "stop_when")]
  const names = stopWhen === undefined ? [] : namesIn(stopWhen)
  return {
    share: numberIn(body, "share") ?? 0,
    by: by === undefined ? null : lower.expression(by, "release.by"),
    shadow: numberIn(body, "shadow") ?? 0,
    agree_on: release.agreeOn,
    stop_when: stopWhen === undefined ? null : lower.expression(stopWhen, "release.stop_when"),
    names,
    ...(names.some((name) => namesScores.test(name)) && { scores: scoresOf(program) }),
    ...(functions.size > 0 && { functions: { functions: plans, types } }),
  }
}

function scoresOf({ scores, types }: Program): NonNullable<ReleasePlan["scores"]> {
  return [...scores].flatMap(([name, symbol]) => {
    const counted = countedScore(symbol, types)
    return counted === undefined ? [] : [{ name, ...counted }]
  })
}

/** Each with as many fields as figures have: `failed`, `current.cost`, `scores.helpful.good`. */
function namesIn(expression: Syntax.Expression): string[] {
  const names = new Set<string>()
  eachChain(expression, ({ base, steps }) => {
    if (base.kind !== "name") return
    const path = [base.text, ...steps.flatMap((step) => (step.kind === "field" ? [step.name.text] : []))]
    if (path.length > 1 || base.text !== "current") names.add(path.join("."))
  })
  return [...names]
}
