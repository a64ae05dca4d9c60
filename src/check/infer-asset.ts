import { rowsOf } from "../syntax/property-table.ts"
import type * as Syntax from "../syntax/tree.ts"
import { inValue } from "./allowance.ts"
import { assetKindsIn } from "./asset-kind.ts"
import type { CheckContext } from "./check-context.ts"
import { misplacedAsset } from "./misplaced-asset.ts"
import { mustFit } from "./must-fit.ts"
import { expressionOf, readProperties } from "./properties.ts"
import { at, type Infer, type Scope } from "./scope.ts"
import { assetType, booleanType, fileType, stringType } from "../types/primitives.ts"
import { elementType } from "../types/element-type.ts"
import { isLenient, plainType } from "../types/relations.ts"
import type { Type } from "../types/types.ts"

const stringsType: Type = { kind: "array", element: stringType }
const filesType: Type = { kind: "array", element: fileType }

/** `asset e { type, media_type, title, context, citations }` */
export function inferAsset(checking: CheckContext, node: Syntax.AssetNode, scope: Scope, infer: Infer): Type {
  if (scope.assets !== "value") misplacedAsset(checking, node.keyword, scope.path)
  const inner = inValue(scope)
  const source = infer(checking, node.value, inner)
  const files = filesIn(checking, source)
  const wanted = files ?? (isArray(checking, source) ? stringsType : stringType)
  mustFit(checking, node.value, wanted, scope.path)
  const properties = readProperties(checking, "asset", node.block, scope.path, node.keyword)
  for (const [name, { type }] of rowsOf("asset")) {
    const value = type && expressionOf(checking, properties.get(name), scope.path)
    if (value === undefined) continue
    infer(checking, value, at(inner, name))
    mustFit(checking, value, type === "boolean" ? booleanType : stringType, `${scope.path}.${name}`)
  }
  const isGuessed = files === undefined && !properties.has("type") && assetKindsIn(node) === undefined
  if (isGuessed) guessedKind(checking, node, scope.path)
  checking.assetPaths.set(node, scope.path)
  return assetType
}

/** What a file, or a list of files, has to be. Its media type says of which kind it is: nothing is guessed. */
function filesIn(checking: CheckContext, type: Type): Type | undefined {
  const plain = plainType(type, checking.types)
  if (plain.kind === "file") return fileType
  if (isLenient(plain)) return undefined
  const element = elementType(plain, checking.types)
  return element !== undefined && plainType(element, checking.types).kind === "file" ? filesType : undefined
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
