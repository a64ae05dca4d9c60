import { numberIn } from "../check/constants.ts"
import type * as Syntax from "../syntax/tree.ts"
import { expressionIn, propertyOf, type Properties, wordIn } from "../syntax/property-of.ts"

/** How long a question stays open where nothing else is written: 7 days. */
export const defaultExpirySeconds = 604_800

/** What one `approval` or `elicitation` demands. */
export interface ApprovalDemand {
  readonly question: Syntax.Expression | undefined
  readonly show: Syntax.Expression | undefined
  readonly to: Syntax.Expression | undefined
  readonly expires_seconds: number | undefined
}

const plainDemand: ApprovalDemand = {
  question: undefined,
  show: undefined,
  to: undefined,
  expires_seconds: undefined,
}

/** The properties that demand that people are asked, and the word that does. */
const demands = { approval: "required", elicitation: "ask" } as const

/** The approval that a block demands; undefined for `none` and where nothing is said. */
export function demandOf(
  block: Properties | undefined,
  name: keyof typeof demands = "approval",
): ApprovalDemand | undefined {
  const value = propertyOf(block, name)?.value
  if (value?.kind === "properties") {
    const { block: own } = value
    return {
      question: expressionIn(own, "question"),
      show: expressionIn(own, "show"),
      to: expressionIn(own, "to"),
      expires_seconds: expiryOf(own),
    }
  }
  return wordIn(block, name) === demands[name] ? plainDemand : undefined
}

export function expiryOf(block: Properties): number | undefined {
  return numberIn(block, "expires_seconds") ?? undefined
}
