import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Checking } from "./checking.ts"
import { mustFit } from "./must-fit.ts"
import { expressionOf, readProperties } from "./properties.ts"
import { resolve } from "./relations.ts"
import type { Infer, Scope } from "./scope.ts"
import { at } from "./scope.ts"
import type { Type } from "./types.ts"

const stringType: Type = { kind: "string" }

/** `asset e { type, media_type, title }` */
export function inferAsset(checking: Checking, node: Syntax.AssetNode, scope: Scope, infer: Infer): Type {
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
  if (type !== undefined) assetKind(checking, type, `${scope.path}.type`)
  return { kind: "asset" }
}

const assetKinds = ["image", "document", "video"] as const

/** The kind that an asset, or a model's list, names: a string or a bare word. */
export function assetKind(
  checking: Checking,
  node: Syntax.Expression,
  path: string,
): (typeof assetKinds)[number] | undefined {
  const written = wordOrString(node)
  const kind = assetKinds.find((one) => one === written)
  if (kind === undefined && node.kind !== "missing-expression") {
    const hint = 'Write "image", "document" or "video".'
    checking.report("invalid-value", path, node, `Unknown kind of asset: ${checking.quote(node)}`, hint)
  }
  return kind
}

/** The value of a plain string, or a bare word such as `auto`. */
export function wordOrString(node: Syntax.Expression): string | undefined {
  if (node.kind === "string" && node.interpolations.length === 0) return node.texts[0]
  if (node.kind === "chain" && node.base.kind === "name" && node.steps.length === 0) return node.base.text
  return undefined
}

/** Whether a value is an asset, or may be one. */
export function isAsset(checking: Checking, type: Type): boolean {
  const resolved = resolve(type, checking.types)
  if (resolved.kind === "union") return resolved.members.some((member) => member.kind === "asset")
  return resolved.kind === "asset"
}

/** Reports a value that would pass an asset on to where none can go. */
export function refuseAsset(checking: Checking, node: Syntax.Expression, type: Type, path: string): void {
  // An `asset` written there has told so itself.
  if (isAsset(checking, type) && !writesAsset(node)) misplacedAsset(checking, node, path)
}

function writesAsset(node: Syntax.Expression): boolean {
  switch (node.kind) {
    case "asset":
      return true
    case "group":
      return writesAsset(node.expression)
    case "default":
      return writesAsset(node.left) || writesAsset(node.right)
    case "match":
      return node.body.items.some((branch) => writesAsset(branch.value))
    default:
      return false
  }
}

function misplacedAsset(checking: Checking, span: Span, path: string): void {
  const message = "An asset can only be written into the text of an instruction"
  const hint = "Write `{{ asset … }}` in an instruction, or name it in `dynamic` and write that there."
  checking.report("unsupported-asset", path, span, message, hint)
}
