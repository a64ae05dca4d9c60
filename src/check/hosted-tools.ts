import type { JsonObject } from "../base/json-value.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import { objectOf } from "../base/ordered-object.ts"
import { expressionIn, propertyOf, wordOrString, type Properties } from "../syntax/property-of.ts"
import { hostedType } from "../syntax/property-table.ts"
import type * as Syntax from "../syntax/tree.ts"
import { constantFields, constantIn, constantOf } from "./constants.ts"

/** A tool that the provider of a model hosts, as `hosted_tools` states it. */
export interface HostedEntry {
  /** The known type that its type begins with. */
  readonly type: string
  /** The entry as it is sent. */
  readonly entry: JsonObject
  readonly isCleared: boolean
}

/** The field of an entry that says what it is cleared for. It is not sent. */
export const clearedField = "cleared"

/** The entries of `hosted_tools` that are valid. */
export function hostedIn(block: Properties | undefined): readonly HostedEntry[] {
  const list = expressionIn(block, "hosted_tools")
  if (list?.kind !== "array") return []
  return list.items.flatMap((item) => {
    const found = item.kind === "object" ? entryOf(item) : undefined
    return found === undefined ? [] : [found]
  })
}

function entryOf({ body }: Extract<Syntax.Expression, { kind: "object" }>): HostedEntry | undefined {
  const sent = body.items.filter(({ name }) => name.text !== clearedField)
  const cleared = body.items.find(({ name }) => name.text === clearedField)
  const values = sent.map(({ name, value }) => [name.text, constantOf(value)] as const)
  const entry = objectOf(values.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])))
  const known = typeof entry["type"] === "string" ? hostedType(entry["type"]) : undefined
  if (known === undefined || !isJsonObject(entry)) return undefined
  return { type: known, entry, isCleared: cleared !== undefined && wordOrString(cleared.value) === "private" }
}

/** `price { hosted { } }`: the price of one use of each type; undefined where it cannot be read. */
export function hostedPricesIn(model: Properties): JsonObject | undefined {
  const price = propertyOf(model, "price")?.value
  if (price?.kind !== "properties") return undefined
  const uses = propertyOf(price.block, "hosted")?.value
  const found = uses?.kind === "values" ? constantFields(uses.block) : constantIn(price.block, "hosted")
  return isJsonObject(found) ? found : uses === undefined ? {} : undefined
}
