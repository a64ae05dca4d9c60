import { cutText } from "../base/cut-text.ts"
import { quoteText } from "../source/quote-text.ts"
import { showType } from "./show-type.ts"
import type { Type } from "./types.ts"

const maxListed = 8

/** What a value should have been: `string or null`, `one of "low", "high"`. */
export function showExpected(type: Type): string {
  if (type.kind === "enum") return oneOf(type.values)
  if (type.kind === "literal") return showValue(type.value)
  if (type.kind === "any") return "a JSON value"
  if (type.kind === "file") return "a file, as `{ file_id }`, `{ url }`, `{ data, media_type, name }` or a data URL"
  if (type.kind !== "union") return showType(type)
  const strings = type.members.flatMap((member) => {
    return member.kind === "literal" ? [member.value] : member.kind === "enum" ? member.values : []
  })
  const others = type.members.filter(({ kind }) => kind !== "literal" && kind !== "enum" && kind !== "null")
  const texts = others.slice(0, maxListed).map((member) => showType(member, 40))
  if (strings.length > 0) texts.unshift(oneOf(strings))
  if (others.length > maxListed) texts.push(`${others.length - maxListed} more types`)
  if (type.members.some(({ kind }) => kind === "null")) texts.push("null")
  const last = texts.pop() ?? ""
  return texts.length === 0 ? last : `${texts.join(", ")} or ${last}`
}

function oneOf(values: readonly string[]): string {
  const [first] = values
  return values.length === 1 && first !== undefined ? showValue(first) : `one of ${shorten(values, showValue)}`
}

function showValue(value: string): string {
  return quoteText(cutText(value, 40))
}

/** A list for a sentence: the first few, and how many more there are. */
export function shorten(items: readonly string[], show: (item: string) => string): string {
  const shown = items.slice(0, maxListed).map(show).join(", ")
  return items.length > maxListed ? `${shown} and ${items.length - maxListed} more` : shown
}

/** What a value is, in a few words; never the whole of a long one, and only its sort when values are not to be shown. */
export function showFound(value: unknown, shown: boolean): string {
  if (value === null) return "null"
  if (Array.isArray(value)) return `array of ${value.length}`
  switch (typeof value) {
    case "string": {
      if (!shown) return "string"
      const text = JSON.stringify(cutText(value, 40))
      return value.length > 40 ? `string ${text} of ${value.length} characters` : `string ${text}`
    }
    case "number":
      if (Number.isNaN(value)) return "no number"
      if (!Number.isFinite(value)) return "a number too large to hold"
      return shown ? `number ${value}` : "number"
    case "boolean":
      return shown ? `boolean ${value}` : "boolean"
    default:
      return typeof value
  }
}
