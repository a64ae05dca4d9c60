import type * as Syntax from "../../syntax/tree.ts"
import { assetKindOf, wordOrString } from "../asset-kind.ts"
import type { CheckContext } from "../check-context.ts"
import type { Scope } from "../scope.ts"

/** Reports the assets in an instruction, named or written there, of a kind that its model does not take. */
export function checkAssetsOfModel(
  checking: CheckContext,
  instruction: Syntax.Expression,
  model: Syntax.ModelDeclaration,
  scope: Scope,
): void {
  if (instruction.kind === "group") return checkAssetsOfModel(checking, instruction.expression, model, scope)
  if (instruction.kind !== "string") return
  const name = model.name.text
  const taken = assetsOfModel(model)
  if (checking.skipped.isIncomplete(model.body, "assets")) return
  for (const shown of instruction.interpolations) {
    for (const kind of assetKindsOf(checking, shown, scope)) {
      if (taken.includes(kind)) continue
      const message = `The model \`${name}\` does not take assets of type "${kind}"`
      const hint = `Add "${kind}" to the \`assets\` of \`model ${name}\`.`
      checking.report("unsupported-asset", scope.path, shown, message, hint)
    }
  }
}

function assetsOfModel(model: Syntax.ModelDeclaration): string[] {
  const property = model.body.items.find((item) => item.name.text === "assets")
  if (property?.value.kind !== "expression" || property.value.expression.kind !== "array") return []
  return property.value.expression.items.flatMap((item) => wordOrString(item) ?? [])
}

/** The kinds of the assets that an expression (already inferred) may be. */
export function assetKindsOf(checking: CheckContext, expression: Syntax.Expression, scope: Scope): ReadonlySet<string> {
  const kinds = new Set<string>()
  const add = (node: Syntax.Expression): void => {
    switch (node.kind) {
      case "asset": {
        const kind = assetKindOf(node)
        if (kind !== undefined) kinds.add(kind)
        return
      }
      case "group":
        return add(node.expression)
      case "default":
        add(node.left)
        return add(node.right)
      case "match":
        for (const branch of node.body.items) add(branch.value)
        return
      case "chain": {
        const root = checking.roots.get(node)
        if (root?.kind !== "dynamic" && root?.kind !== "local") return
        const values = root.kind === "dynamic" ? checking.dynamics : scope.agent?.locals
        for (const kind of values?.get(root.name)?.assets ?? []) kinds.add(kind)
        return
      }
      default:
        return
    }
  }
  add(expression)
  return kinds
}
