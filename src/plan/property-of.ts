import type * as Syntax from "../syntax/tree.ts"

export type Properties = { readonly items: readonly (Syntax.Property | Syntax.BatchItem)[] }

/** Properties of long blocks by name: a batch of imports is asked for its own once for each item. */
const longBlocks = new WeakMap<Properties, ReadonlyMap<string, Syntax.Property>>()
const long = 32

export function propertyOf(block: Properties | undefined, name: string): Syntax.Property | undefined {
  if (block === undefined) return undefined
  if (block.items.length > long) return propertiesOf(block).get(name)
  for (const item of block.items) if (item.kind === "property" && item.name.text === name) return item
  return undefined
}

function propertiesOf(block: Properties): ReadonlyMap<string, Syntax.Property> {
  const before = longBlocks.get(block)
  if (before !== undefined) return before
  const found = new Map<string, Syntax.Property>()
  for (const item of block.items) {
    if (item.kind === "property" && !found.has(item.name.text)) found.set(item.name.text, item)
  }
  longBlocks.set(block, found)
  return found
}

/** The fields of a block of values such as `bindings { … }`; none when it is not there. */
export function valuesOf(block: Properties | undefined, name: string): readonly Syntax.ValueField[] {
  const value = propertyOf(block, name)?.value
  return value?.kind === "values" ? value.block.items : []
}
