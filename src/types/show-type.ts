import { cutText } from "../base/cut-text.ts"
import { isIdentifier } from "../base/identifier.ts"
import { quoteText } from "../source/quote-text.ts"
import type { Field, Type, UnionType } from "./types.ts"

/** Longest text that `showType` gives by default: it still reads inside a sentence. */
const defaultWidth = 80

/** How much of a type is written out: levels of nesting, and parts of one list. */
interface Detail {
  readonly depth: number
  readonly items: number
}

/** A text that is being written. Every part takes a character at least, so more parts than characters need no writing. */
interface Text extends Detail {
  parts: number
}

// From the fullest to the barest.
const details: readonly Detail[] = [
  { depth: 12, items: 24 },
  { depth: 3, items: 24 },
  { depth: 2, items: 12 },
  { depth: 2, items: 4 },
  { depth: 1, items: 12 },
  { depth: 1, items: 4 },
  { depth: 1, items: 2 },
]

/**
 * A type in the author's words, for messages: `maybe string`, `[{ path: string }]`, `schema.finding`. What does not fit
 * in `width` is left out as `…`.
 */
export function showType(type: Type, width: number = defaultWidth): string {
  for (const detail of details) {
    const text = show(type, { ...detail, parts: width }, 0)
    if (text.length <= width) return text
  }
  return show(type, { depth: 0, items: 1, parts: width }, 0)
}

function show(type: Type, detail: Text, level: number): string {
  if (--detail.parts < 0) return "…"
  switch (type.kind) {
    case "literal":
      return quoteText(cutText(type.value, 40))
    case "ref":
      return `schema.${type.name}`
    case "error":
      return "unknown"
    case "union":
      return showUnion(type, detail, level)
    case "enum":
      return `enum ${list(type.values, detail, level, showName)}`
    case "array": {
      const element = level < detail.depth ? show(type.element, detail, level + 1) : "…"
      return type.length === undefined ? `[${element}]` : `[${element}; ${type.length}]`
    }
    case "map": {
      const value = level < detail.depth ? show(type.value, detail, level + 1) : "…"
      return type.value.kind === "union" && value.includes(" | ") ? `map (${value})` : `map ${value}`
    }
    case "tuple": {
      if (type.elements.length === 0) return "()"
      if (level >= detail.depth) return "(…)"
      return `(${parts(type.elements, detail, (element) => show(element, detail, level + 1)).join(", ")})`
    }
    case "record":
      return showFields(type.fields, detail, level)
    case "variant":
      return `variant ${showName(type.tag)} ${list(type.cases, detail, level, (one) => {
        return `${showName(one.name)} ${showFields(one.fields, detail, level + 1)}`
      })}`
    default:
      return type.kind
  }
}

/** `maybe T` where that says it all, else the members with null last. */
function showUnion(type: UnionType, detail: Text, level: number): string {
  const others = type.members.filter((member) => member.kind !== "null")
  const only = others[0]
  const withNull = others.length < type.members.length
  if (withNull && others.length === 1 && only !== undefined) return `maybe ${show(only, detail, level)}`
  const shown = parts(others, detail, (member) => show(member, detail, level))
  return (withNull ? [...shown, "null"] : shown).join(" | ")
}

function showFields(fields: readonly Field[], detail: Text, level: number): string {
  return list(fields, detail, level, (field) => `${showName(field.name)}: ${show(field.type, detail, level + 1)}`)
}

/** A field, case or value of an enum: quoted where it has to be. */
export function showName(name: string): string {
  return isIdentifier(name) ? cutText(name, 64) : quoteText(cutText(name, 64))
}

function list<T>(items: readonly T[], detail: Text, level: number, one: (item: T) => string): string {
  if (items.length === 0) return "{ }"
  if (level >= detail.depth) return "{ … }"
  return `{ ${parts(items, detail, one).join(", ")} }`
}

function parts<T>(items: readonly T[], detail: Detail, one: (item: T) => string): string[] {
  const shown = items.slice(0, detail.items).map(one)
  return items.length > detail.items ? [...shown, "…"] : shown
}
