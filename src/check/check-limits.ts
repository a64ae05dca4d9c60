import type { Span } from "../source/span.ts"
import { propertyOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { blockAs } from "./block-of.ts"
import type { CheckContext } from "./check-context.ts"
import type { ConstantRule } from "./constants.ts"
import { checkConstant, numberFrom } from "./constants.ts"
import { readProperties } from "./properties.ts"
import type { ModelReference } from "./check-model-reference.ts"

// Prices of models, and what a run or an agent may use at most.

/** Enough for every currency; costs stay numbers that way. */
const mostPrice = 1_000_000_000
const priceOfTokens: ConstantRule = { ...numberFrom(0, mostPrice), code: "type-mismatch" }
const aboveZero: ConstantRule = {
  expected: "a number above 0",
  type: "number",
  fits: (value) => Number(value) > 0,
  code: "type-mismatch",
}

/** `price { input: 0.40, output: 1.60 }` of a model */
export function checkPrice(checking: CheckContext, property: Syntax.Property | undefined, path: string): void {
  const value = blockAs(checking, property, path, "properties", "price { input: 0.40 output: 1.60 }")
  if (property !== undefined && value !== undefined) {
    checkNumbers(checking, "price", value.block, path, property.name, priceOfTokens)
  }
}

/** `limits { … }` of an agent */
export function checkLimits(checking: CheckContext, property: Syntax.Property | undefined, path: string): void {
  const value = blockAs(checking, property, path, "properties", "limits { tokens: 200_000 }")
  if (property !== undefined && value !== undefined) {
    checkNumbers(checking, "limits", value.block, path, property.name, aboveZero)
  }
}

/** `limits { … }` of the whole run */
export function checkRunLimits(checking: CheckContext): void {
  for (const { body, keyword } of checking.limits) {
    checkNumbers(checking, "limits", body, "limits", keyword, aboveZero)
  }
}

function checkNumbers(
  checking: CheckContext,
  place: "price" | "limits",
  block: Syntax.Block<Syntax.Property>,
  path: string,
  owner: Span,
  rule: ConstantRule,
): void {
  for (const [name, property] of readProperties(checking, place, block, path, owner)) {
    checkConstant(checking, property, `${path}.${name}`, rule)
  }
}

/** Reports the models of an agent that have no price, where a limit on cost governs them. */
export function checkPriced(
  checking: CheckContext,
  agent: Syntax.AgentDeclaration,
  models: readonly ModelReference[],
): void {
  const own = propertyOf(agent.body, "limits")?.value
  const blocks = own?.kind === "properties" ? [own.block] : []
  const bodies = [...checking.limits.map(({ body }) => body), ...blocks]
  if (!bodies.some((body) => propertyOf(body, "cost") !== undefined)) return
  for (const { declaration, reference, path } of models) {
    if (propertyOf(declaration.body, "price") !== undefined) continue
    if (checking.skipped.isIncomplete(declaration.body, "price")) continue
    const name = declaration.name.text
    const message = `model.${name} has no price, and \`limits\` bounds the cost`
    const hint = `Add \`price { input: … output: … }\` to \`model ${name}\`.`
    checking.report("unpriced-model", path, reference, message, hint)
  }
}
