import { removeIt } from "../source/hint.ts"
import type * as Syntax from "../syntax/tree.ts"
import { withoutSecrets } from "./allowance.ts"
import type { CheckContext } from "./check-context.ts"
import { mustFit } from "./must-fit.ts"
import { expressionOf, readProperties } from "./properties.ts"
import type { Infer, Scope } from "./scope.ts"
import { stringType } from "../types/primitives.ts"
import { runApproverLength } from "../base/limits.ts"

/** `approval { to: "finance", expires_seconds: 3_600 }`, and `elicitation` in the same form. */
export function checkApproval(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  scope: Scope,
  infer: Infer,
): void {
  if (property?.value.kind !== "properties") return
  const path = `${scope.path}.${property.name.text}`
  const properties = readProperties(checking, "approval", property.value.block, path, property.name)
  const to = expressionOf(checking, properties.get("to"), path)
  if (to === undefined) return
  const place: Scope = { ...withoutSecrets(scope), path: `${path}.to`, place: `an ${property.name.text}` }
  infer(checking, to, place)
  mustFit(checking, to, stringType, place.path)
  if (to.end - to.start > runApproverLength) {
    const message = `The name of those who answer may have at most ${runApproverLength} characters`
    checking.report("invalid-value", place.path, to, message, "Name a group.")
  }
}

/** Only tools are called, so that only their calls can be approved. */
export function refuseApproval(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  kind: Syntax.ImportKind,
  path: string,
): void {
  if (property === undefined) return
  const message = `Only the calls of a tool can be approved, and this is a ${kind}`
  checking.report("unknown-property", `${path}.approval`, property.name, message, removeIt())
}
