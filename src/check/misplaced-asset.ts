import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { resolve } from "../types/relations.ts"
import type { Type } from "../types/types.ts"

/** Whether a value is an asset, or may be one. */
function isAsset(checking: CheckContext, type: Type): boolean {
  const resolved = resolve(type, checking.types)
  if (resolved.kind === "union") return resolved.members.some((member) => member.kind === "asset")
  return resolved.kind === "asset"
}

/** Reports a value that would pass an asset on to where none can go; whether it would. */
export function refuseAsset(checking: CheckContext, node: Syntax.Expression, type: Type, path: string): boolean {
  if (!isAsset(checking, type)) return false
  // An `asset` written there has been reported already.
  if (!writesAsset(node)) misplacedAsset(checking, node, path)
  return true
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

export function misplacedAsset(checking: CheckContext, span: Span, path: string): void {
  const message = "An asset can only be written into the text of an instruction"
  const hint = "Write `{{ asset … }}` in an instruction, or name it in `dynamic` and write that there."
  checking.report("unsupported-asset", path, span, message, hint)
}
