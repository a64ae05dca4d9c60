import type * as Syntax from "../syntax/tree.ts"

/** The expressions whose value an expression may have: through groups, defaults and matches. */
export function outcomesOf(node: Syntax.Expression): Syntax.Expression[] {
  switch (node.kind) {
    case "group":
      return outcomesOf(node.expression)
    case "default":
      return [...outcomesOf(node.left), ...outcomesOf(node.right)]
    case "match":
      return node.body.items.flatMap((branch) => outcomesOf(branch.value))
    default:
      return [node]
  }
}

/** The strings in the source that a value may be, or be made from. */
export function literalsIn(node: Syntax.Expression): Syntax.StringNode[] {
  return outcomesOf(node).flatMap((one) => {
    return one.kind === "string" ? [one, ...one.interpolations.flatMap(literalsIn)] : []
  })
}
