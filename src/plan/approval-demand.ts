import { wordOrString } from "../check/asset-kind.ts"
import { constantOf } from "../check/constants.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Properties } from "./property-of.ts"
import { propertyOf } from "./property-of.ts"

/** How long a question stays open where nothing else is written: 7 days. */
export const defaultExpirySeconds = 604_800

/** What one `approval` demands. */
export interface ApprovalDemand {
  readonly to: Syntax.Expression | undefined
  readonly expires_seconds: number | undefined
}

/** The approval that a block demands; undefined for `none` and where nothing is said. */
export function demandOf(block: Properties | undefined): ApprovalDemand | undefined {
  const value = propertyOf(block, "approval")?.value
  if (value?.kind === "properties") {
    const to = propertyOf(value.block, "to")?.value
    return { to: to?.kind === "expression" ? to.expression : undefined, expires_seconds: expiryOf(value.block) }
  }
  if (value?.kind !== "expression" || wordOrString(value.expression) !== "required") return undefined
  return { to: undefined, expires_seconds: undefined }
}

export function expiryOf(block: Properties): number | undefined {
  const value = propertyOf(block, "expires_seconds")?.value
  const seconds = value?.kind === "expression" ? constantOf(value.expression) : undefined
  return typeof seconds === "number" ? seconds : undefined
}
