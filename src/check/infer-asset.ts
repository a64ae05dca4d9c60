import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { misplacedAsset } from "./misplaced-asset.ts"
import { mustFit } from "./must-fit.ts"
import { expressionOf, readProperties } from "./properties.ts"
import type { Infer, Scope } from "./scope.ts"
import { at } from "./scope.ts"
import type { Type } from "../types/types.ts"

const stringType: Type = { kind: "string" }

/** `asset e { type, media_type, title }` */
export function inferAsset(checking: CheckContext, node: Syntax.AssetNode, scope: Scope, infer: Infer): Type {
  if (scope.assets !== "value") misplacedAsset(checking, node.keyword, scope.path)
  const inner: Scope = { ...scope, assets: "none" }
  infer(checking, node.value, inner)
  mustFit(checking, node.value, stringType, scope.path)
  const properties = readProperties(checking, "asset", node.block, scope.path, node.keyword)
  for (const name of ["media_type", "title"]) {
    const value = expressionOf(checking, properties.get(name), scope.path)
    if (value === undefined) continue
    infer(checking, value, at(inner, name))
    mustFit(checking, value, stringType, `${scope.path}.${name}`)
  }
  const type = expressionOf(checking, properties.get("type"), scope.path)
  if (type !== undefined) checkAssetKind(checking, type, `${scope.path}.type`)
  return { kind: "asset" }
}

const assetKinds: readonly string[] = ["image", "document", "video"]

export function isAssetKind(word: string): boolean {
  return assetKinds.includes(word)
}

/** The kind that an asset, or a model's list, names: a string or a bare word. */
export function checkAssetKind(checking: CheckContext, node: Syntax.Expression, path: string): void {
  const written = wordOrString(node)
  if (node.kind === "missing-expression" || (written !== undefined && isAssetKind(written))) return
  const hint = 'Write "image", "document" or "video".'
  checking.report("invalid-value", path, node, `Unknown kind of asset: ${checking.quote(node)}`, hint)
}

/** The value of a plain string, or a bare word such as `auto`. */
export function wordOrString(node: Syntax.Expression): string | undefined {
  if (node.kind === "string" && node.interpolations.length === 0) return node.texts[0]
  if (node.kind === "chain" && node.base.kind === "name" && node.steps.length === 0) return node.base.text
  return undefined
}
