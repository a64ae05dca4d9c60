import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { outcomesOf } from "./outcomes-of.ts"
import { membersOf } from "../types/members-of.ts"
import type { Type } from "../types/types.ts"

/** Whether a value is an asset, or may be one. */
export function isAsset(checking: CheckContext, type: Type): boolean {
  return membersOf(type, checking.types).some(({ kind }) => kind === "asset")
}

/** Reports a value that would pass an asset on to where none can go; whether it would. */
export function refuseAsset(checking: CheckContext, node: Syntax.Expression, type: Type, path: string): boolean {
  if (!isAsset(checking, type)) return false
  // An `asset` written there has been reported already.
  if (!outcomesOf(node).some(({ kind }) => kind === "asset")) misplacedAsset(checking, node, path)
  return true
}

export function misplacedAsset(checking: CheckContext, span: Span, path: string): void {
  const message = "An asset can only be written into the text of an instruction"
  const hint = "Write `{{ asset … }}` in an instruction, or name it in `dynamic` and write that there."
  checking.report("unsupported-asset", path, span, message, hint)
}
