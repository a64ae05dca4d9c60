import { quoteText } from "../source/quote-text.ts"
import type { Type, TypeTable } from "../types/types.ts"
import type { ClosedTypes } from "./closed-type.ts"

/** A value that a model chooses among those that the author wrote, by its path, and what there is to choose from. */
export interface Choice {
  readonly path: string
  readonly type: string
}

/** Values deeper in an output are part of the ones above. */
const maxDepth = 6

/** The choices that a value leaves to whoever makes it: the largest closed values in it, the cases of variants, and what may be null. */
export function choicesIn(type: Type, path: string, closed: ClosedTypes, types: TypeTable, depth = 0): Choice[] {
  if (closed.isClosed(type)) return [{ path, type: spelled(type, types) }]
  const inner = (part: Type, at: string): Choice[] => choicesIn(part, at, closed, types, depth + 1)
  if (depth === maxDepth) return [{ path, type: "parts of it" }]
  switch (type.kind) {
    case "record":
      return type.fields.flatMap((field) => inner(field.type, `${path}.${field.name}`))
    case "tuple":
      return type.elements.flatMap((element, index) => inner(element, `${path}[${index}]`))
    case "array":
      return type.length === undefined ? [] : inner(type.element, `${path}[]`)
    case "variant": {
      const cases = type.cases.map(({ name }) => name)
      return [
        { path: `${path}.${type.tag}`, type: enumOf(cases) },
        ...type.cases.flatMap(({ name, fields }) => {
          return fields.flatMap((field) => inner(field.type, `${path}#${name}.${field.name}`))
        }),
      ]
    }
    case "union": {
      const others = type.members.filter((member) => member.kind !== "null")
      const [only] = others
      if (only === undefined || others.length > 1 || others.length === type.members.length) return []
      return [{ path, type: "null or not" }, ...inner(only, path)]
    }
    case "ref": {
      const named = types[type.name]?.type
      return named === undefined ? [] : inner(named, path)
    }
    default:
      return []
  }
}

/** A closed type with all of its values: what a schema is called says nothing about how many there are. */
function spelled(type: Type, types: TypeTable): string {
  const inner = (part: Type): string => spelled(part, types)
  const fields = (all: readonly { readonly name: string; readonly type: Type }[]): string => {
    return `{ ${all.map((field) => `${field.name}: ${inner(field.type)}`).join(", ")} }`
  }
  switch (type.kind) {
    case "literal":
      return quoteText(type.value)
    case "enum":
      return enumOf(type.values)
    case "array":
      return `[${inner(type.element)}; ${type.length}]`
    case "tuple":
      return `(${type.elements.map(inner).join(", ")})`
    case "record":
      return fields(type.fields)
    case "variant":
      return `variant ${type.tag} { ${type.cases.map((one) => `${one.name} ${fields(one.fields)}`).join(" ")} }`
    case "union": {
      const others = type.members.filter((member) => member.kind !== "null").map(inner)
      const text = others.join(" | ")
      if (others.length === type.members.length) return text
      return others.length === 1 ? `maybe ${text}` : `${text} | null`
    }
    case "ref": {
      const named = types[type.name]?.type
      return named === undefined ? `schema.${type.name}` : inner(named)
    }
    default:
      return type.kind
  }
}

function enumOf(values: readonly string[]): string {
  return `enum { ${values.join(", ")} }`
}

/** Each of the values of a shown enum by itself, else the type: a value more is a choice more, and one less is none. */
export function shownChoices(type: string): readonly string[] {
  const [, values] = /^(?:maybe )?enum \{ (.*) \}$/.exec(type) ?? []
  return values?.split(", ") ?? [type]
}
