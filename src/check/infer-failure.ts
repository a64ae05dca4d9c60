import type { Hint } from "../source/hint.ts"
import { skipsFailure, wordIn } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { errorType } from "../types/primitives.ts"
import type { Type } from "../types/types.ts"
import { inOperand } from "./allowance.ts"
import type { CheckContext } from "./check-context.ts"
import { failureType, functionRow } from "./function-table.ts"
import type { FailureSymbol } from "./program.ts"
import type { Infer, Scope } from "./scope.ts"
import { wrongCount } from "./wrong-count.ts"

/** `failure(agent.x)`, `failure(dynamic.x)`: why a step or a call failed that may. Of a loop an array. */
export function inferFailure(checking: CheckContext, node: Syntax.FunctionNode, scope: Scope, infer: Infer): Type {
  const [item, ...more] = node.items
  if (item === undefined || more.length > 0 || node.form !== undefined) {
    for (const one of node.items) infer(checking, one, { ...inOperand(scope, "computed"), assets: "value" })
    if (!checking.skipped.hasError(node)) wrongCount(checking, node, functionRow("failure"), scope, infer)
    return errorType
  }
  if (scope.roots !== undefined) {
    const [who, hint] = scope.path.startsWith("score.")
      ? ["Scores", "Compare the step with null."]
      : ["Tests", "Write `expect skipped agent.name`."]
    return refuse(checking, node, scope, `${who} do not see why a step failed`, hint)
  }
  const type = infer(checking, item, { ...inOperand(scope, "computed"), assets: "value" })
  if (checking.skipped.hasError(node) || item.kind === "missing-expression") return errorType
  const found = stepOf(checking, item, scope)
  if (found === undefined) {
    if (type.kind === "error") return errorType
    const hint = "Name a step, or a value that is one call: `failure(agent.name)`, `failure(dynamic.name)`."
    return refuse(checking, item, scope, "`failure` takes a step or a call with `on_failure: skip`", hint)
  }
  if ("lacks" in found) {
    return refuse(checking, item, scope, found.lacks, found.hint)
  }
  checking.failures.set(node, found)
  let given: Type = failureType
  for (let depth = 0; depth < found.depth; depth++) given = { kind: "array", element: given }
  return given
}

function refuse(
  checking: CheckContext,
  node: Syntax.Expression,
  scope: Scope,
  message: string,
  hint: Hint | string,
): Type {
  checking.report("wrong-arguments", scope.path, node, message, hint)
  return errorType
}

interface Lacking {
  readonly lacks: string
  readonly hint: string
}

/** The step or the call that is named, and what it lacks. */
function stepOf(checking: CheckContext, item: Syntax.Expression, scope: Scope): FailureSymbol | Lacking | undefined {
  if (item.kind === "group") return stepOf(checking, item.expression, scope)
  if (item.kind !== "chain" || item.steps.length !== 1) return undefined
  const root = checking.roots.get(item)
  switch (root?.kind) {
    case "agent": {
      const declaration = checking.agents.get(root.name)?.declaration
      if (declaration === undefined) return undefined
      if (wordIn(declaration.body, "on_failure") !== "skip") {
        return lacking(`agent.${root.name}`, `agent.${root.name}`)
      }
      return { chain: item, call: undefined, depth: declaration.loop === undefined ? 0 : 1 }
    }
    case "dynamic":
    case "local": {
      const fields = root.kind === "local" ? scope.agent?.localFields : checking.dynamicFields
      const value = fields?.get(root.name)?.value
      const found = value && callOf(value, 0)
      if (found === undefined) return undefined
      if (!skipsFailure(found.call)) {
        return lacking(`dynamic.${root.name}`, `the call in dynamic.${root.name}`)
      }
      return { chain: item, ...found }
    }
    default:
      return undefined
  }
}

function lacking(id: string, where: string): Lacking {
  return { lacks: `${id} has no \`on_failure: skip\`: where it fails, the run ends`, hint: `Add it to ${where}.` }
}

/** The call that a value is, or that a list makes for each of its elements. */
function callOf(
  node: Syntax.Expression,
  depth: number,
): { readonly call: Syntax.InvokeNode; readonly depth: number } | undefined {
  switch (node.kind) {
    case "group":
      return callOf(node.expression, depth)
    case "list":
      return callOf(node.value, depth + 1)
    // What it is where the call failed.
    case "default":
      return callOf(node.left, depth)
    case "call":
    case "read":
    case "render":
    case "repeat":
      return { call: node, depth }
    default:
      return undefined
  }
}
