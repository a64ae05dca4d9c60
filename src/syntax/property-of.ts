import { remembered } from "../base/remembered.ts"
import type * as Syntax from "./tree.ts"

export type Properties = { readonly items: readonly (Syntax.Property | Syntax.BatchItem)[] }

/** Properties of long blocks by name: a batch of imports is asked for its own once for each item. */
const longBlocks = new WeakMap<Properties, ReadonlyMap<string, Syntax.Property>>()
const long = 32

export function propertyOf(block: Properties | undefined, name: string): Syntax.Property | undefined {
  if (block === undefined) return undefined
  if (block.items.length > long) return remembered(longBlocks, block, propertiesOf).get(name)
  for (const item of block.items) if (item.kind === "property" && item.name.text === name) return item
  return undefined
}

function propertiesOf(block: Properties): ReadonlyMap<string, Syntax.Property> {
  const found = new Map<string, Syntax.Property>()
  for (const item of block.items) if (item.kind === "property") remembered(found, item.name.text, () => item)
  return found
}

/** The expression of a property; undefined where it has none, or another kind of value. */
export function expressionIn(block: Properties | undefined, name: string): Syntax.Expression | undefined {
  const value = propertyOf(block, name)?.value
  return value?.kind === "expression" ? value.expression : undefined
}

/** The fields of a block of values such as `bindings { … }`; none when it is not there. */
export function valuesOf(block: Properties | undefined, name: string): readonly Syntax.ValueField[] {
  const value = propertyOf(block, name)?.value
  return value?.kind === "values" ? value.block.items : []
}

/** The name after the dot of a reference: `fast` of `model.fast`. */
export function secondName({ steps: [first] }: Syntax.Chain): string {
  return first?.kind === "field" ? first.name.text : ""
}

/** The value of a plain string, or a bare word such as `auto`. */
export function wordOrString(node: Syntax.Expression): string | undefined {
  if (node.kind === "string" && node.interpolations.length === 0) return node.texts[0]
  if (node.kind === "chain" && node.base.kind === "name" && node.steps.length === 0) return node.base.text
  return undefined
}

/** Whether a call is null where it fails for good. */
export function skipsFailure({ block }: Syntax.InvokeNode): boolean {
  return wordIn(block, "on_failure") === "skip"
}

/** The word or plain string that a property is set to. */
export function wordIn(block: Properties | undefined, name: string): string | undefined {
  const expression = expressionIn(block, name)
  return expression && wordOrString(expression)
}

/** Whether a chain ends in a step that could not be read: `input.`, `list.*`. */
export function isCutOff({ base, steps, end }: Syntax.Chain): boolean {
  return end > (steps.at(-1) ?? base).end
}
