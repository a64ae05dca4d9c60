import { remembered } from "../base/remembered.ts"
import { utf8Length } from "../base/utf8-length.ts"
import type { Entry, Expression } from "./expression.ts"
import { children, traits } from "./expression-traits.ts"
import type { AgentNode, Plan } from "./plan-shape.ts"

/** Whether an expression of an agent has the same value in every item of its loop; of one without a loop, in every run. */
export type Stability = (expression: Expression | null) => boolean

const found = new WeakMap<AgentNode, Stability>()

/** Found out once for a plan. */
export function stabilityOf(node: AgentNode): Stability {
  return remembered(found, node, () => {
    const looped = node.loop !== null
    const locals = new Set<string>()
    const varies = (expression: Expression): boolean => {
      if (!traits(expression).pure) return true
      if (expression.op !== "reference") return children(expression).some(varies)
      const { root } = expression
      if (root.kind === "item" || root.kind === "matched") return false
      if (!looped || root.kind === "variable") return true
      return root.kind === "local" && locals.has(root.name)
    }
    const known = new WeakMap<Expression, boolean>()
    // They stand in an order in which they can be computed.
    for (const { key, value } of node.locals) if (varies(value)) locals.add(key)
    return (expression) => expression === null || !remembered(known, expression, varies)
  })
}

/** The beginning of a text that stays the same; null where all of it does. */
export function stableBeginning(text: Expression, isStable: Stability): readonly (string | Expression)[] | null {
  const parts = partsOf(text)
  const end = parts.findIndex((part) => typeof part !== "string" && !isStable(part))
  return end < 0 ? null : parts.slice(0, end)
}

/** The share of the literal text of an agent's system text and instruction that stays the same, in hundredths; null where it has none. */
export function cacheableShare({ models, prompts }: Plan, node: AgentNode): number | null {
  const isStable = stabilityOf(node)
  const { context, loop, messages, uses } = node
  const areStable = (entries: readonly Entry[] = []): boolean => entries.every(({ value }) => isStable(value))
  const [first] = node.models
  const system = node.system ?? models[first.name]?.system ?? null
  const isBetween =
    (context === null || (loop !== null && isStable(context.compact?.instruction ?? null))) &&
    isStable(messages ?? null) &&
    uses.every(
      ({ kind, name, bindings }) =>
        kind !== "prompt" || (loop !== null && areStable(bindings) && areStable(prompts[name]?.bindings)),
    )
  let [stable, all, goesOn] = [0, 0, true]
  for (const text of [system, node.instruction]) {
    if (text === node.instruction) goesOn &&= isBetween
    const beginning = text === null ? null : stableBeginning(text, isStable)
    if (text !== null) {
      all += literalBytes(partsOf(text))
      if (goesOn) stable += literalBytes(beginning ?? partsOf(text))
    }
    goesOn &&= beginning === null
  }
  return all === 0 ? null : Math.round((100 * stable) / all) / 100
}

function literalBytes(parts: readonly (string | Expression)[]): number {
  return parts.reduce((sum, part) => sum + (typeof part === "string" ? utf8Length(part) : 0), 0)
}

function partsOf(text: Expression): readonly (string | Expression)[] {
  if (text.op === "text") return text.parts
  return [text.op === "literal" && typeof text.value === "string" ? text.value : text]
}
