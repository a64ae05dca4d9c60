import { numberIn } from "../check/constants.ts"
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
  /** What its expressions may call. Absent where there is nothing. */
  readonly functions?: Pick<Plan, "functions" | "types">
}

/** Null for a program without a `release` block. */
export function planRelease(program: Program): ReleasePlan | null {
  const { release, functions, types } = program
  if (release === undefined) return null
  const { body } = release.declaration
  const plans = planFunctions(program)
  const lower = new Lowering(program, plans)
  const [by, stopWhen] = [expressionIn(body, "by"), expressionIn(body, "stop_when")]
  return {
    share: numberIn(body, "share") ?? 0,
    by: by === undefined ? null : lower.expression(by, "release.by"),
    shadow: numberIn(body, "shadow") ?? 0,
    agree_on: release.agreeOn,
    stop_when: stopWhen === undefined ? null : lower.expression(stopWhen, "release.stop_when"),
    names: stopWhen === undefined ? [] : namesIn(stopWhen),
    ...(functions.size > 0 && { functions: { functions: plans, types } }),
  }
}

function namesIn(expression: Syntax.Expression): string[] {
  const names = new Set<string>()
  eachChain(expression, ({ base, steps: [step] }) => {
    if (base.kind !== "name") return
    if (base.text !== "current") names.add(base.text)
    else if (step?.kind === "field") names.add(`current.${step.name.text}`)
  })
  return [...names]
}
