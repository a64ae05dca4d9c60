import type * as Syntax from "../syntax/tree.ts"

/** The strings in the source that a value may be, or be made from: through groups, defaults and matches. */
export function literalsIn(node: Syntax.Expression): Syntax.StringNode[] {
  switch (node.kind) {
    case "string":
      return [node, ...node.interpolations.flatMap(literalsIn)]
    case "group":
      return literalsIn(node.expression)
    case "default":
      return [...literalsIn(node.left), ...literalsIn(node.right)]
    case "match":
      return node.body.items.flatMap((branch) => literalsIn(branch.value))
    default:
      return []
  }
}
