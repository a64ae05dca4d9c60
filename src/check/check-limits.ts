import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import type { ConstantRule } from "./constants.ts"
import { checkConstant } from "./constants.ts"
import { readProperties } from "./properties.ts"
import type { ModelReference } from "./check-model-reference.ts"

// Prices of models, and what a run or an agent may use at most.

const fromZero: ConstantRule = {
  expected: "a number from 0",
  type: "number",
  fits: (value) => Number(value) >= 0,
  code: "type-mismatch",
}
const aboveZero: ConstantRule = {
  expected: "a number above 0",
  type: "number",
  fits: (value) => Number(value) > 0,
  code: "type-mismatch",
}

/** `price { input: 0.40, output: 1.60 }` of a model */
export function checkPrice(checking: CheckContext, property: Syntax.Property | undefined, path: string): void {
  const block = blockOf(checking, property, path, "price { input: 0.40 output: 1.60 }")
  if (property === undefined || block === undefined) return
  checkNumbers(checking, readProperties(checking, "price", block, path, property.name), path, fromZero)
}

/** `limits { … }` of an agent */
export function checkLimits(checking: CheckContext, property: Syntax.Property | undefined, path: string): void {
  const block = blockOf(checking, property, path, "limits { tokens: 200_000 }")
  if (property === undefined || block === undefined) return
  checkNumbers(checking, readProperties(checking, "limits", block, path, property.name), path, aboveZero)
}

/** `limits { … }` of the whole run */
export function checkRunLimits(checking: CheckContext): void {
  for (const { body, keyword } of checking.limits) {
    checkNumbers(checking, readProperties(checking, "limits", body, "limits", keyword), "limits", aboveZero)
  }
}

function checkNumbers(
  checking: CheckContext,
  properties: ReadonlyMap<string, Syntax.Property>,
  path: string,
  rule: ConstantRule,
): void {
  for (const [name, property] of properties) checkConstant(checking, property, `${path}.${name}`, rule)
}

function blockOf(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  path: string,
  example: string,
): Syntax.Block<Syntax.Property> | undefined {
  if (property === undefined || property.value.kind === "missing") return undefined
  if (property.value.kind === "properties") return property.value.block
  const span = property.value.kind === "expression" ? property.value.expression : property.name
  checking.report("type-mismatch", path, span, `Expected a block: \`${example}\``)
  return undefined
}

/** Reports the models of an agent that have no price, where a limit on cost governs them. */
export function checkPriced(
  checking: CheckContext,
  agent: Syntax.AgentDeclaration,
  models: readonly ModelReference[],
): void {
  const own = agent.body.items.find((item) => item.name.text === "limits")?.value
  const governed = checking.limits.some(({ body }) => limitsCost(body)) || (own !== undefined && limitsCostIn(own))
  if (!governed) return
  for (const { declaration, reference, path } of models) {
    if (declaration.body.items.some((item) => item.name.text === "price")) continue
    if (checking.skipped.isIncomplete(declaration.body, "price")) continue
    const name = declaration.name.text
    const message = `model.${name} has no price, and \`limits\` bounds the cost`
    const hint = `Add \`price { input: … output: … }\` to \`model ${name}\`.`
    checking.report("unpriced-model", path, reference, message, hint)
  }
}

function limitsCostIn(value: Syntax.PropertyValue): boolean {
  return value.kind === "properties" && limitsCost(value.block)
}

function limitsCost({ items }: Syntax.Block<Syntax.Property>): boolean {
  return items.some((item) => item.name.text === "cost")
}
