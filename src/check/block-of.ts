import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"

type BlockValue<Kind> = Syntax.PropertyValue & { readonly kind: Kind }

/** The block of values that a property such as `bindings { … }` has; reports anything else in its place. */
export function blockOf(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  path: string,
): Syntax.Block<Syntax.ValueField> | undefined {
  return blockAs(checking, property, path, "values")?.block
}

/** The value of a property that is written as a block, such as `example`; reports anything else in its place. */
export function blockAs<Kind extends "values" | "properties" | "send">(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  path: string,
  kind: Kind,
  example = `${property?.name.text} { … }`,
): BlockValue<Kind> | undefined {
  if (property === undefined || property.value.kind === "missing") return undefined
  if (property.value.kind === kind) return property.value as BlockValue<Kind>
  checking.report("type-mismatch", path, valueSpan(property), `Expected a block: \`${example}\``)
  return undefined
}

/** What a report about the value of a property points at. */
export function valueSpan({ name, value }: Syntax.Property): Span {
  return value.kind === "expression" ? value.expression : name
}
