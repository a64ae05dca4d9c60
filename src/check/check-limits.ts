import { propertyOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { readProperties } from "./properties.ts"
import type { ModelReference } from "./check-model-reference.ts"

// What a run or an agent may use at most.

/** `limits { … }` of the whole run */
export function checkRunLimits(checking: CheckContext): void {
  for (const { body, keyword } of checking.blocks.limits) {
    readProperties(checking, "limits", body, "limits", keyword)
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
  const bodies = [...checking.blocks.limits.map(({ body }) => body), ...blocks]
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
