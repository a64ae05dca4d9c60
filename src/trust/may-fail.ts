import { neverFails } from "../check/function-table.ts"
import type { Program } from "../check/program.ts"
import { isArithmetic } from "../syntax/operator-parser.ts"
import type * as Syntax from "../syntax/tree.ts"
import { partsOf } from "../types/type-parts.ts"
import type { Type } from "../types/types.ts"

/** Whether an expression may fail at run time, its parts aside. Whatever is not known to succeed may fail. */
export function mayFail(program: Program, node: Syntax.Expression): boolean {
  const isTyped = (one: Syntax.Expression): boolean => !isUntyped(program, program.expressionTypes.get(one))
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
  return (step.kind === "pluck" && step.stars === 3) || isUntyped(program, program.receivers.get(step))
}

function isUntyped(program: Program, type: Type | undefined): boolean {
  return isMadeOf(program, type, ["any", "object", "error"])
}

/** Whether values of a type may have a part of one of these kinds; a type that is not known may. */
export function isMadeOf({ types }: Program, type: Type | undefined, kinds: readonly Type["kind"][]): boolean {
  if (type === undefined) return true
  const all = new Set<Type>([type])
  // A set goes on with what is added to it meanwhile.
  for (const one of all) {
    if (kinds.includes(one.kind)) return true
    const named = one.kind === "ref" ? types[one.name]?.type : undefined
    if (one.kind === "ref" && named === undefined) return true
    for (const part of named === undefined ? partsOf(one) : [named]) all.add(part)
  }
  return false
}
