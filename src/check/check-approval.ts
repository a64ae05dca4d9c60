import { removeIt } from "../source/hint.ts"
import type * as Syntax from "../syntax/tree.ts"
import { withoutSecrets } from "./allowance.ts"
import type { CheckContext } from "./check-context.ts"
import { refuseAsset } from "./misplaced-asset.ts"
import { mustFit } from "./must-fit.ts"
import { expressionOf, readProperties } from "./properties.ts"
import type { Infer, Scope } from "./scope.ts"
import { stringType } from "../types/primitives.ts"
import { runApproverLength } from "../base/limits.ts"

/** `approval { question: "Refund?", to: "finance" }`, and `elicitation`, which asks what its server asks. */
export function checkApproval(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  scope: Scope,
  infer: Infer,
): void {
  if (property?.value.kind !== "properties") return
  const path = `${scope.path}.${property.name.text}`
  const word = property.name.text === "elicitation" ? "elicitation" : "approval"
  const properties = readProperties(checking, word, property.value.block, path, property.name)
  const read = (name: string): Syntax.Expression | undefined => {
    const expression = expressionOf(checking, properties.get(name), path)
    if (expression === undefined) return undefined
    const place: Scope = { ...withoutSecrets(scope), path: `${path}.${name}`, place: `an ${word}` }
    const type = infer(checking, expression, place)
    if (name === "show") refuseAsset(checking, expression, type, place.path)
    else mustFit(checking, expression, stringType, place.path)
    return expression
  }
  const to = read("to")
  if (word === "approval") for (const name of ["question", "show"]) read(name)
  if (to === undefined) return
  if (to.end - to.start > runApproverLength) {
    const message = `The name of those who answer may have at most ${runApproverLength} characters`
    checking.report("invalid-value", `${path}.to`, to, message, "Name a group.")
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
