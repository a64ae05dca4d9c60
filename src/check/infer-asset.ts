import { rowsOf } from "../syntax/property-table.ts"
import type * as Syntax from "../syntax/tree.ts"
import { inValue } from "./allowance.ts"
import { assetKindsIn } from "./asset-kind.ts"
import type { CheckContext } from "./check-context.ts"
import { misplacedAsset } from "./misplaced-asset.ts"
import { mustFit } from "./must-fit.ts"
import { expressionOf, readProperties } from "./properties.ts"
import { at, type Infer, type Scope } from "./scope.ts"
import { assetType, booleanType, stringType } from "../types/primitives.ts"
import { elementType } from "../types/element-type.ts"
import { isLenient, plainType } from "../types/relations.ts"
import type { Type } from "../types/types.ts"

const stringsType: Type = { kind: "array", element: stringType }

/** `asset e { type, media_type, title, context, citations }` */
export function inferAsset(checking: CheckContext, node: Syntax.AssetNode, scope: Scope, infer: Infer): Type {
  if (scope.assets !== "value") misplacedAsset(checking, node.keyword, scope.path)
  const inner = inValue(scope)
  const source = infer(checking, node.value, inner)
  mustFit(checking, node.value, isArray(checking, source) ? stringsType : stringType, scope.path)
  const properties = readProperties(checking, "asset", node.block, scope.path, node.keyword)
  for (const [name, { type }] of rowsOf("asset")) {
    const value = type && expressionOf(checking, properties.get(name), scope.path)
    if (value === undefined) continue
    infer(checking, value, at(inner, name))
    mustFit(checking, value, type === "boolean" ? booleanType : stringType, `${scope.path}.${name}`)
  }
  if (!properties.has("type") && assetKindsIn(node) === undefined) guessedKind(checking, node, scope.path)
  checking.assetPaths.set(node, scope.path)
  return assetType
}

function isArray(checking: CheckContext, type: Type): boolean {
  const plain = plainType(type, checking.types)
  return !isLenient(plain) && elementType(plain, checking.types) !== undefined
}

function guessedKind(checking: CheckContext, node: Syntax.AssetNode, path: string): void {
  if (node.value.kind === "missing-expression") return
  if (node.block !== undefined && checking.skipped.isSwallowedIn(node.block, "type")) return
  const message =
    "`type` is decided when the workflow runs, by the data URL, the media type or the extension of the address; an image if none of them tells it"
  const hint = 'Add `type: "image"`, "document", "video" or "audio".'
  checking.report("guessed-asset", `${path}.type`, node.keyword, message, hint)
}
