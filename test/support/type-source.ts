import { isIdentifier } from "../../src/base/identifier.ts"
import { quoteText } from "../../src/source/quote-text.ts"
import type { Field, Type } from "../../src/types/types.ts"

/** A type as a workflow writes it, whole. What cannot be written (`any`, a tuple of nothing) becomes `object`. */
export function typeSource(type: Type): string {
  switch (type.kind) {
    case "literal":
      return quoteText(type.value)
    case "enum":
      return `enum { ${type.values.map(quoteText).join(", ")} }`
    case "array":
      return `[${typeSource(type.element)}${type.length === undefined ? "" : `; ${type.length}`}]`
    case "tuple":
      return type.elements.length === 0 ? "object" : `(${type.elements.map(typeSource).join(", ")},)`
    case "record":
      return fieldsSource(type.fields)
    case "union":
      return type.members.map((member) => `(${typeSource(member)})`).join(" | ")
    case "variant": {
      const cases = type.cases.map((one) => `${quoteText(one.name)} ${fieldsSource(one.fields)}`)
      return `variant ${nameSource(type.tag)} { ${cases.join(" ")} }`
    }
    case "ref":
      return `schema.${type.name}`
    case "any":
    case "asset":
    case "error":
      return "object"
    default:
      return type.kind
  }
}

export function fieldsSource(fields: readonly Field[]): string {
  return `{ ${fields.map((field) => `${nameSource(field.name)}: ${typeSource(field.type)}`).join(", ")} }`
}

export function nameSource(name: string): string {
  return isIdentifier(name) ? name : quoteText(name)
}
