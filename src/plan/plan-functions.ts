import { canonicalJson } from "../base/canonical-json.ts"
import type { JsonValue } from "../base/json-value.ts"
import { remembered } from "../base/remembered.ts"
import { textDigest } from "../base/text-digest.ts"
import type { FunctionSymbol, Program } from "../check/program.ts"
import { toJsonSchema } from "../types/json-schema.ts"
import { isUntyped } from "../types/type-parts.ts"
import type { FunctionPlan } from "./expression.ts"
import { Lowering, unchecked, type FunctionPlans } from "./lower.ts"
import { withoutTexts } from "./without-texts.ts"

const planned = new WeakMap<Program, FunctionPlans>()

/** Functions of one's own. The checker has entered them in such an order that each comes after those that it calls. */
export function planFunctions(program: Program): FunctionPlans {
  return remembered(planned, program, () => {
    const plans: Record<string, FunctionPlan> = Object.create(null) as Record<string, FunctionPlan>
    for (const [name, symbol] of program.functions) plans[name] = planFunction(program, symbol, plans)
    return plans
  })
}

/** Whether a function of the plan is code. */
export function hasCode({ functions }: { readonly functions?: FunctionPlans }): boolean {
  return functions !== undefined && Object.values(functions).some(({ code }) => code !== undefined)
}

function planFunction(program: Program, symbol: FunctionSymbol, plans: FunctionPlans): FunctionPlan {
  const { declaration, variables, result } = symbol
  const parameters = [...variables].map(([name, { type }]) => ({ name, type }))
  if (declaration.file !== undefined) return planCode(program, symbol, parameters)
  const lowering = new Lowering(program, plans, [...variables.keys()])
  const value = lowering.expression(declaration.value, `function.${declaration.name.text}`)
  const found = program.expressionTypes.get(declaration.value)
  const checked = declaration.result !== undefined && isUntyped(found, program.types) ? result : null
  const types = [...parameters.map(({ type }) => type), ...(checked === null ? [] : [checked])]
  const facts = [types.map((type) => toJsonSchema(type, program.types)), withoutTexts(value as object as JsonValue)]
  return { parameters, value, result: checked, version: textDigest(canonicalJson(facts)) }
}

/** A function of a code file: its texts are a part of what identifies it. */
function planCode(
  program: Program,
  { code, result }: FunctionSymbol,
  parameters: FunctionPlan["parameters"],
): FunctionPlan {
  if (code === undefined) return unchecked("a function of a file that is not there")
  const types = [...parameters.map(({ type }) => type), result]
  const { entry, texts } = code.files
  const facts = [types.map((type) => toJsonSchema(type, program.types)), code.name, entry, texts]
  const version = textDigest(canonicalJson(facts))
  return { parameters, value: { op: "literal", value: null }, code, result, version }
}
