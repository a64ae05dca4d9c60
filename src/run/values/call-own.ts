import type { JsonValue } from "../../base/json-value.ts"
import type { FunctionPlan, OwnFunctionExpression } from "../../plan/expression.ts"
import { nodeCount } from "../../plan/expression-traits.ts"
import { showType } from "../../types/show-type.ts"
import type { Type } from "../../types/types.ts"
import { Fitting } from "../../types/value-fits.ts"
import { describe, problem, type CodeRequest, type Scope } from "./scope.ts"

/** A call makes a scope of its own, and each part of the function is evaluated: in characters that take the same time. */
const perCall = 512
const perNode = 48

/** The call of a function of a code file. */
export function codeRequest(
  expression: OwnFunctionExpression,
  called: FunctionPlan,
  items: readonly JsonValue[],
  scope: Scope,
): CodeRequest {
  const args = JSON.stringify(items)
  scope.work.spend(args.length, scope.path)
  return { expression, called, args, scope }
}

/** The function, and what its body sees: its arguments alone. Each call counts as work, because functions call each other. */
export function callOwn(
  expression: OwnFunctionExpression,
  items: readonly JsonValue[],
  scope: Scope,
): { readonly called: FunctionPlan; readonly inner: Scope } {
  const called = scope.functions?.functions?.[expression.name]
  if (called === undefined) throw new Error(`${expression.name} is not a function of the plan`)
  scope.work.spend(perCall + nodeCount(called.value) * perNode, scope.path)
  if (expression.untyped) {
    for (const [at, { name, type }] of called.parameters.entries())
      mustBe(items[at] ?? null, type, name, expression, scope)
  }
  return { called, inner: { ...scope, items: new Map(items.map((item, at) => [`#${at}`, item])) } }
}

/** The result, which must be of the declared type where the checker could not know it. */
export function resultOfOwn(
  expression: OwnFunctionExpression,
  { result }: FunctionPlan,
  value: JsonValue,
  scope: Scope,
): JsonValue {
  if (result !== null) mustBe(value, result, "the result", expression, scope)
  return value
}

function mustBe(value: JsonValue, type: Type, what: string, expression: OwnFunctionExpression, scope: Scope): void {
  scope.work.part(value, 0, scope.path)
  if (new Fitting(scope.functions?.types ?? {}).fits(value, type, 0)) return
  throw problem(expression.text, `${what} is ${showType(type)}, found ${describe(value)}`, scope)
}
