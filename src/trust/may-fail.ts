import { neverFails } from "../check/function-table.ts"
import type { Program } from "../check/program.ts"
import { isArithmetic } from "../syntax/operator-parser.ts"
import type * as Syntax from "../syntax/tree.ts"
import { isUntyped } from "../types/type-parts.ts"

/** Whether an expression may fail at run time, its parts aside. Whatever is not known to succeed may fail. */
export function mayFail(program: Program, node: Syntax.Expression): boolean {
  const isTyped = (one: Syntax.Expression): boolean => !isUntyped(program.expressionTypes.get(one), program.types)
  switch (node.kind) {
    case "string":
    case "number":
    case "word":
    case "array":
    case "object":
    case "group":
    case "default":
    // The author vouches for the value, and so for making it.
    case "exception":
    // The flow looks at each step of a chain.
    case "chain":
      return false
    case "binary":
      return isArithmetic(node.operator) || !isTyped(node.left) || !isTyped(node.right)
    case "not":
      return !isTyped(node.operand)
    case "function":
      // The flow looks into a function of one's own.
      if (program.functions.has(node.name.text)) return !node.items.every(isTyped)
      return !neverFails(node.name.text) || !node.items.every(isTyped)
    case "match":
      return !isTyped(node.value)
    case "list": {
      const { loop, when, by } = node
      return ![loop.items, ...(when ? [when.condition] : []), ...(by ? [by.key] : [])].every(isTyped)
    }
    default:
      return true
  }
}

/** Whether a step of a chain may find something else than it needs. */
export function stepMayFail(program: Program, step: Syntax.ChainStep): boolean {
  return (step.kind === "pluck" && step.stars === 3) || isUntyped(program.receivers.get(step), program.types)
}
