import { expressionIn } from "../../syntax/property-of.ts"
import type * as Syntax from "../../syntax/tree.ts"
import { assetKindOf, wordOrString } from "../asset-kind.ts"
import type { CheckContext } from "../check-context.ts"
import { outcomesOf } from "../outcomes-of.ts"
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

/** The kinds that the `assets` of a model lists. */
export function assetsOfModel({ body }: Syntax.ModelDeclaration): string[] {
  const list = expressionIn(body, "assets")
  return list?.kind === "array" ? list.items.flatMap((item) => wordOrString(item) ?? []) : []
}

/** The kinds of the assets that an expression (already inferred) may be. */
export function assetKindsOf(checking: CheckContext, expression: Syntax.Expression, scope: Scope): ReadonlySet<string> {
  return new Set(
    outcomesOf(expression).flatMap((node) => {
      if (node.kind === "asset") return assetKindOf(node) ?? []
      const root = node.kind === "chain" ? checking.roots.get(node) : undefined
      if (root?.kind !== "dynamic" && root?.kind !== "local") return []
      const values = root.kind === "dynamic" ? checking.dynamics : scope.agent?.locals
      return [...(values?.get(root.name)?.assets ?? [])]
    }),
  )
}
