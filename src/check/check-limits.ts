import type { Span } from "../source/span.ts"
import { propertyOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { hostedIn, hostedPricesIn, type HostedEntry } from "./hosted-tools.ts"
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
  summarisers: readonly ModelReference[],
): void {
  const own = propertyOf(agent.body, "limits")?.value
  const blocks = own?.kind === "properties" ? [own.block] : []
  const bodies = [...checking.blocks.limits.map(({ body }) => body), ...blocks]
  if (!bodies.some((body) => propertyOf(body, "cost") !== undefined)) return
  const hosted = hostedIn(agent.body)
  for (const model of [...models, ...summarisers]) {
    const { declaration, reference, path } = model
    if (propertyOf(declaration.body, "price") !== undefined) {
      // A model that compacts a conversation uses no tools.
      if (summarisers.includes(model)) continue
      const all = [...hostedIn(declaration.body), ...hosted]
      checkHostedPrices(checking, declaration, all, reference, path)
      continue
    }
    if (checking.skipped.isIncomplete(declaration.body, "price")) continue
    const name = declaration.name.text
    const message = `model.${name} has no price, and \`limits\` bounds the cost`
    const hint = `Add \`price { input: … output: … }\` to \`model ${name}\`.`
    checking.report("unpriced-model", path, reference, message, hint)
  }
}

/** Reports the first hosted tool of a model whose price says nothing of it. */
function checkHostedPrices(
  checking: CheckContext,
  { name, body }: Syntax.ModelDeclaration,
  hosted: readonly HostedEntry[],
  reference: Span,
  path: string,
): void {
  const prices = hostedPricesIn(body)
  const missing = prices === undefined ? undefined : hosted.find(({ type }) => !Object.hasOwn(prices, type))
  if (missing === undefined) return
  const { type } = missing
  const message = `model.${name.text} has no price for the hosted tool ${type}, and \`limits\` bounds the cost`
  const hint = `Add \`hosted { ${type}: … }\` to the \`price\` of \`model ${name.text}\`: the price of one use.`
  checking.report("unpriced-model", path, reference, message, hint)
}
