import type * as Syntax from "../syntax/tree.ts"
import { withoutSecrets } from "./allowance.ts"
import { checkWord } from "./check-word.ts"
import type { CheckContext } from "./check-context.ts"
import type { ConstantRule } from "./constants.ts"
import { checkConstant } from "./constants.ts"
import { mustFit } from "./must-fit.ts"
import { expressionOf, readProperties } from "./properties.ts"
import type { Infer, Scope } from "./scope.ts"
import { stringType } from "../types/primitives.ts"

const longestExpiry = 7_776_000

/** The plan repeats an import's approver at each use: a long one would make a few lines fill the memory. */
const longestApprover = 1000

const expiry: ConstantRule = {
  expected: "a number of seconds from 1 to 7,776,000 (90 days)",
  type: "number",
  fits: (value) => typeof value === "number" && value >= 1 && value <= longestExpiry,
  code: "type-mismatch",
}

/** `expires_seconds: 86_400` */
export function checkExpiry(checking: CheckContext, property: Syntax.Property | undefined, path: string): void {
  checkConstant(checking, property, path, expiry)
}

/** `approval: required`, `approval: none`, or `approval { to: "finance", expires_seconds: 3_600 }` */
export function checkApproval(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  scope: Scope,
  infer: Infer,
): void {
  if (property === undefined || property.value.kind === "missing") return
  const path = `${scope.path}.approval`
  if (property.value.kind === "properties") {
    const properties = readProperties(checking, "approval", property.value.block, path, property.name)
    const to = expressionOf(checking, properties.get("to"), path)
    if (to !== undefined) {
      const place: Scope = { ...withoutSecrets(scope), path: `${path}.to`, place: "an approval" }
      infer(checking, to, place)
      mustFit(checking, to, stringType, place.path)
      if (to.end - to.start > longestApprover) {
        const message = `The name of the approver may have at most ${longestApprover} characters`
        checking.report("invalid-value", place.path, to, message, "Name a group.")
      }
    }
    checkExpiry(checking, properties.get("expires_seconds"), `${path}.expires_seconds`)
    return
  }
  checkWord(checking, property, scope.path, "approval", approvalWords, (written, quoted) => {
    const meant = meantBy.get(quoted) ?? (written && checking.suggest(written, approvalWords))
    if (meant !== undefined) return `Did you mean \`${meant}\`?`
    return 'Write `approval: required`, `none`, or `approval { to: "group" }`.'
  })
}

const approvalWords = ["required", "none"]
const meantBy = new Map([
  ["true", "required"],
  ["false", "none"],
])

/** Only tools are called, so that only their calls can be approved. */
export function refuseApproval(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  kind: Syntax.ImportKind,
  path: string,
): void {
  if (property === undefined) return
  const message = `Only the calls of a tool can be approved, and this is a ${kind}`
  checking.report("unknown-property", `${path}.approval`, property.name, message, "Remove it.")
}
