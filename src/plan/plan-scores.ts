import { numberIn } from "../check/constants.ts"
import { countedField } from "../check/counted-score.ts"
import type { Program, ScoreSymbol } from "../check/program.ts"
import { expressionIn, propertyOf } from "../syntax/property-of.ts"
import { modelEntries } from "../syntax/model-choice.ts"
import { targetName, unchecked, type Lowering } from "./lower.ts"
import { inferenceOf } from "./plan-settings.ts"
import type { JudgePlan, ScorePlan } from "./plan-shape.ts"

/** Nothing for a program without a `score` block. */
export function planScores(program: Program, lower: Lowering): { readonly scores?: readonly ScorePlan[] } {
  if (program.scores.size === 0) return {}
  return { scores: [...program.scores].map(([name, symbol]) => scoreOf(program, name, symbol, lower)) }
}

function scoreOf(program: Program, name: string, symbol: ScoreSymbol, lower: Lowering): ScorePlan {
  const { body, when } = symbol.declaration
  const path = `score.${name}`
  const value = expressionIn(body, "value")
  return {
    name,
    sample: numberIn(body, "sample") ?? 1,
    when: when === undefined ? null : lower.expression(when.condition, `${path}.when`),
    value: value === undefined ? null : lower.expression(value, `${path}.value`),
    judge: value === undefined ? judgeOf(program, path, symbol, lower) : null,
    ...(program.privateScores.has(name) && { private: true as const }),
  }
}

function judgeOf(program: Program, path: string, { declaration, output }: ScoreSymbol, lower: Lowering): JudgePlan {
  const { body } = declaration
  const model = propertyOf(body, "model")
  const [entry] = (model && modelEntries(model.value)) ?? []
  if (entry === undefined || output === undefined) return unchecked("a score without a model")
  return {
    model: { name: targetName(entry.reference), inference: inferenceOf(entry.block) },
    of: lower.required(body, "of", `${path}.of`),
    criterion: lower.required(body, "judge", `${path}.judge`),
    output,
    counted: countedField(output, program.types)?.name ?? unchecked("a score that counts nothing"),
  }
}
