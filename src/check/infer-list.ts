import type * as Syntax from "../syntax/tree.ts"
import { numberType, stringType } from "../types/primitives.ts"
import { isAssignable, isLenient, nullable, withoutNull } from "../types/relations.ts"
import { showType } from "../types/show-type.ts"
import type { Type } from "../types/types.ts"
import { inValue, withoutCalls, withoutSecrets } from "./allowance.ts"
import type { CheckContext } from "./check-context.ts"
import { isBrokenPattern, loopVariables } from "./check-loop.ts"
import { checkGuarded } from "./guarded.ts"
import { inferCondition, inferOperand } from "./infer-operators.ts"
import { refuseAsset } from "./misplaced-asset.ts"
import { narrowed, pathsPresent, withoutNames } from "./narrowing.ts"
import type { LoopVariable } from "./program.ts"
import type { Infer, Scope } from "./scope.ts"

/** `[value for item in list when condition by key descending]` */
export function inferList(checking: CheckContext, node: Syntax.ListNode, scope: Scope, infer: Infer): Type {
  const { value, loop, when, by } = node
  const outer: Scope =
    scope.secrets === "allowed" ? { ...withoutSecrets(scope), place: "a list from a list" } : inValue(scope)
  const variables = new Map<string, LoopVariable>()
  for (const [name, variable] of loopVariables(checking, loop, outer, infer)) {
    variables.set(name, { ...variable, isItem: true })
  }
  checking.lists.set(node, variables)
  const inner: Scope = {
    ...outer,
    variables: new Map([...outer.variables, ...variables]),
    hasBrokenLoop: outer.hasBrokenLoop || isBrokenPattern(checking, loop.pattern, variables),
    present: withoutNames(outer.present, variables),
  }
  let element: Type = { kind: "error" }
  checkGuarded(
    checking,
    () => {
      if (when === undefined) return inner
      const place: Scope = { ...withoutCalls(inner), place: "the condition of a list" }
      inferCondition(checking, when.condition, place, infer)
      return narrowed(inner, pathsPresent(when.condition, true))
    },
    (chosen) => {
      if (by !== undefined) {
        inferKey(checking, by.key, { ...withoutCalls(chosen), place: "the key of a list" }, infer)
      }
      element = infer(checking, value, chosen)
      refuseAsset(checking, value, element, scope.path)
    },
  )
  return { kind: "array", element }
}

/** What a list is sorted by. */
function inferKey(checking: CheckContext, key: Syntax.Expression, scope: Scope, infer: Infer): void {
  const type = inferOperand(checking, key, scope, infer)
  if (isLenient(type)) return
  const { types } = checking
  const plain = withoutNull(type, types)
  const isNumber = isAssignable(plain, numberType, types)
  if (!isNumber && !isAssignable(plain, stringType, types)) {
    const message = `A list is sorted by numbers or by strings, found ${showType(type)}`
    checking.report("type-mismatch", scope.path, key, message)
  } else if (nullable(type, types)) {
    const written = checking.quote(key)
    const hint = `Write \`${written} ?? ${isNumber ? "0" : '""'}\`, or leave such elements out: \`when ${written} != null\`.`
    checking.report("nullable-access", scope.path, key, `\`${written}\` may be null`, hint)
  }
}
