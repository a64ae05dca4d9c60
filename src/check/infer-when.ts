import { propertyOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { errorType } from "../types/primitives.ts"
import { maybe } from "../types/relations.ts"
import type { Type } from "../types/types.ts"
import { withoutCalls, withoutSecrets } from "./allowance.ts"
import type { CheckContext } from "./check-context.ts"
import { checkGuarded } from "./guarded.ts"
import { inferCondition } from "./infer-operators.ts"
import { narrowed, pathsPresent } from "./narrowing.ts"
import type { Infer, Scope } from "./scope.ts"

/** `call tool.t when condition { … }`: null where the condition does not hold. `inferCall` sees what the condition makes sure of. */
export function inferWhen(
  checking: CheckContext,
  node: Syntax.InvokeNode,
  scope: Scope,
  infer: Infer,
  inferCall: (scope: Scope) => Type,
): Type {
  refuseConcurrency(checking, node, scope)
  const { when } = node
  if (when === undefined) return inferCall(scope)
  let type: Type = errorType
  checkGuarded(
    checking,
    () => {
      const place: Scope = { ...withoutCalls(withoutSecrets(scope)), place: "the condition of a call" }
      inferCondition(checking, when.condition, place, infer)
      return narrowed(scope, pathsPresent(when.condition, true))
    },
    (inner) => (type = inferCall(inner)),
  )
  return type.kind === "error" ? type : maybe(type)
}

/** One call has nothing that could be done at a time. */
function refuseConcurrency(checking: CheckContext, { kind, target, block }: Syntax.InvokeNode, scope: Scope): void {
  const property = propertyOf(block, "concurrency")
  if (property === undefined || [...scope.variables.values()].some(({ isItem }) => isItem === true)) return
  const message = "Unknown property: concurrency, which only a call in a list has"
  const text = `Remove it, or write a list: \`[${kind} ${checking.quote(target)} { … } for item in input.list]\`.`
  const path = `${scope.path}.concurrency`
  checking.report("unknown-property", path, property.name, message, { text, data: { kind: "remove" } })
}
