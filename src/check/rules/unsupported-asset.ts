import type * as Syntax from "../../syntax/tree.ts"
import type { Checking } from "../checking.ts"
import { wordOrString } from "../infer.ts"
import type { Scope } from "../scope.ts"

export interface FoundAsset {
  /** Where the instruction shows it. */
  readonly node: Syntax.Expression
  readonly kind: string | undefined
}

/** The assets that an instruction shows, also those that it names by a dynamic value. */
export function assetsIn(checking: Checking, expression: Syntax.Expression, scope: Scope): FoundAsset[] {
  if (expression.kind !== "string") return []
  return expression.interpolations.flatMap((shown) =>
    assetsOf(checking, shown, scope, new Set()).map((asset) => ({ node: shown, kind: assetType(asset) })),
  )
}

function assetsOf(
  checking: Checking,
  expression: Syntax.Expression,
  scope: Scope,
  seen: Set<Syntax.Expression>,
): Syntax.AssetNode[] {
  if (seen.has(expression)) return []
  seen.add(expression)
  switch (expression.kind) {
    case "asset":
      return [expression]
    case "group":
      return assetsOf(checking, expression.expression, scope, seen)
    case "default":
      return [...assetsOf(checking, expression.left, scope, seen), ...assetsOf(checking, expression.right, scope, seen)]
    case "match":
      return expression.body.items.flatMap((branch) => assetsOf(checking, branch.value, scope, seen))
    case "chain": {
      const root = checking.roots.get(expression)
      if (root?.kind === "dynamic") {
        const field = checking.dynamicFields.get(root.name)
        return field === undefined ? [] : assetsOf(checking, field.value, scope, seen)
      }
      if (root?.kind === "local") {
        const field = scope.agent?.localFields.get(root.name)
        return field === undefined ? [] : assetsOf(checking, field.value, scope, seen)
      }
      return []
    }
    default:
      return []
  }
}

function assetType(asset: Syntax.AssetNode): string | undefined {
  const property = asset.block?.items.find((item) => item.name.text === "type")
  return property?.value.kind === "expression" ? wordOrString(property.value.expression) : undefined
}
