import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { checkRequirements } from "./check-requirements.ts"
import { checkStep, judgedType } from "./check-steps.ts"
import { expectProperty, expectType, infer } from "./infer.ts"
import { refuseAsset } from "./misplaced-asset.ts"
import { expressionOf, readProperties } from "./properties.ts"
import { at, type Scope } from "./scope.ts"
import { stringType } from "../types/primitives.ts"
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
  checkRequirements(checking, declaration, answer, scope)
}

function checkValue(
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
