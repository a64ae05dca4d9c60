import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { checkRequirements } from "./check-requirements.ts"
import { checkStep, judgedType } from "./check-steps.ts"
import { expectProperty, expectType, infer } from "./infer.ts"
import { knownList } from "./known-list.ts"
import { refuseAsset } from "./misplaced-asset.ts"
import { mustFit } from "./must-fit.ts"
import { expressionOf, isComputed, readProperties } from "./properties.ts"
import { at, type Scope } from "./scope.ts"
import { numberType, stringType } from "../types/primitives.ts"
import { plainType } from "../types/relations.ts"
import { showType } from "../types/show-type.ts"
import type { Type } from "../types/types.ts"

export function checkAsks(checking: CheckContext): void {
  for (const declaration of checking.tree.declarations) {
    if (declaration.kind !== "ask") continue
    checkStep(
      checking,
      declaration,
      checking.asks,
      "a question",
      () => new Map(),
      (scope) => checkBody(checking, declaration, scope),
    )
  }
}

function checkBody(checking: CheckContext, declaration: Syntax.AskDeclaration, scope: Scope): void {
  const { path } = scope
  const properties = readProperties(checking, "ask", declaration.body, path, declaration.name)
  for (const text of ["question", "to"]) {
    expectProperty(checking, properties.get(text), stringType, path, at(scope, text))
  }
  checkValue(checking, properties.get("show"), undefined, at(scope, "show"))
  const answer = judgedType(checking.asks, declaration)
  const expected = answer.kind === "error" ? undefined : answer
  checkValue(checking, properties.get("on_expiry"), expected, at(scope, "on_expiry"))
  checkPrefill(checking, properties.get("prefill"), expected, at(scope, "prefill"))
  const expires = properties.get("expires_seconds")
  if (expires !== undefined && isComputed(expires.value)) {
    expectProperty(checking, expires, numberType, path, at(scope, "expires_seconds"))
  }
  checkRequirements(checking, declaration, answer, scope)
}

export function checkValue(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  expected: Type | undefined,
  scope: Scope,
): void {
  const path = scope.path.slice(0, scope.path.lastIndexOf("."))
  const expression = expressionOf(checking, property, path)
  if (expression === undefined) return
  if (expected !== undefined) expectType(checking, expression, expected, scope)
  else refuseAsset(checking, expression, infer(checking, expression, scope), scope.path)
}

/** Some of the answer's fields, with values of their types. */
function checkPrefill(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  answer: Type | undefined,
  scope: Scope,
): void {
  const path = scope.path.slice(0, scope.path.lastIndexOf("."))
  const expression = expressionOf(checking, property, path)
  if (expression === undefined) return
  const found = plainType(infer(checking, expression, scope), checking.types)
  if (answer?.kind !== "record") return
  if (found.kind !== "record") return mustFit(checking, expression, answer, scope.path)
  const given = new Set(found.fields.map(({ name }) => name))
  const known = answer.fields.filter(({ name }) => given.delete(name))
  for (const name of checking.incomplete.has(answer) ? [] : given) {
    const hint = knownList(checking, name, answer.fields, "Its fields are")
    const message = `There is no field \`${name}\` in ${showType(answer)}`
    checking.report("type-mismatch", `${scope.path}.${name}`, nameIn(expression, name), message, hint)
  }
  if (given.size === 0) mustFit(checking, expression, { kind: "record", fields: known }, scope.path)
}

/** The place of a field in an object that is written out, or all of the expression. */
function nameIn(expression: Syntax.Expression, name: string): Span {
  const items = expression.kind === "object" ? expression.body.items : []
  return items.find((item) => item.name.text === name)?.name ?? expression
}
