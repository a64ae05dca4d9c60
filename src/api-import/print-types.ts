import { isIdentifier } from "../base/identifier.ts"
import { quoteText } from "../source/quote-text.ts"
import { partsOf } from "../types/type-parts.ts"
import type { Field, Type } from "../types/types.ts"
import { docLines } from "./comment-lines.ts"
import type { DeclaredSchema } from "./schemas.ts"

/** A name as a key: in quotes where it is not an identifier. */
export function keyText(name: string): string {
  return isIdentifier(name) ? name : quoteText(name)
}

export function fieldsText(fields: readonly Field[]): string {
  return fields.map(({ name, type, doc }) => `${docLines(doc, 3)}${keyText(name)}: ${typeText(type)}`).join("\n")
}

function typeText(type: Type): string {
  switch (type.kind) {
    case "literal":
      return quoteText(type.value)
    case "enum":
      return type.values.every((value) => isIdentifier(value))
        ? `enum { ${type.values.join(", ")} }`
        : type.values.map((value) => quoteText(value)).join(" | ")
    case "array":
      return `[${typeText(type.element)}]`
    case "map": {
      const value = typeText(type.value)
      return type.value.kind === "union" && !value.startsWith("maybe ") ? `map (${value})` : `map ${value}`
    }
    case "tuple": {
      const elements = type.elements.map((element) => typeText(element))
      return elements.length === 1 ? `(${elements.join("")},)` : `(${elements.join(", ")})`
    }
    case "record":
      return `{\n${fieldsText(type.fields)}\n}`
    case "ref":
      return `schema.${type.name}`
    case "union": {
      const members = type.members.filter(({ kind }) => kind !== "null")
      const isNullable = members.length < type.members.length
      // Each member is printed once: printing it for every form would double the work with each level.
      const text = members.map((member) => grouped(member, isNullable || members.length > 1)).join(" | ")
      if (!isNullable) return text
      return members.length === 1 ? `maybe ${text}` : `maybe (${text})`
    }
    case "variant": {
      const cases = type.cases.map(({ name, fields }) => `${keyText(name)} {\n${fieldsText(fields)}\n}`)
      return `variant ${keyText(type.tag)} {\n${cases.join("\n")}\n}`
    }
    default:
      return type.kind
  }
}

/** Literals that are joined by `|` stand in parentheses within something else. */
function grouped(type: Type, isPart: boolean): string {
  const text = typeText(type)
  return isPart && type.kind === "enum" && !text.startsWith("enum") ? `(${text})` : text
}

/** The schemas that the fields refer to, directly or through others, in the order of the document. */
export function usedSchemas(schemas: readonly DeclaredSchema[], roots: readonly Field[]): DeclaredSchema[] {
  const byName = new Map(schemas.map((schema) => [schema.name, schema]))
  const used = new Set<string>()
  const open: Type[] = roots.map(({ type }) => type)
  for (let type = open.pop(); type !== undefined; type = open.pop()) {
    if (type.kind === "ref" && !used.has(type.name)) {
      used.add(type.name)
      open.push(...(byName.get(type.name)?.fields ?? []).map((field) => field.type))
    }
    open.push(...partsOf(type))
  }
  return schemas.filter(({ name }) => used.has(name))
}

/** A value must be able to end: a field that leads back to its own schema may be null. */
export function withoutCircles(schemas: readonly DeclaredSchema[]): void {
  const byName = new Map(schemas.map((schema) => [schema.name, schema]))
  const state = new Map<string, "open" | "done">()
  const breakIn = (type: Type): Type => {
    if (type.kind === "record") {
      return { kind: "record", fields: type.fields.map((field) => ({ ...field, type: breakIn(field.type) })) }
    }
    if (type.kind === "tuple") return { kind: "tuple", elements: type.elements.map(breakIn) }
    if (type.kind !== "ref") return type
    if (state.get(type.name) === "open") return { kind: "union", members: [type, { kind: "null" }] }
    visit(type.name)
    return type
  }
  const visit = (name: string): void => {
    const schema = byName.get(name)
    if (schema === undefined || state.has(name)) return
    state.set(name, "open")
    for (const [at, field] of schema.fields.entries()) schema.fields[at] = { ...field, type: breakIn(field.type) }
    state.set(name, "done")
  }
  for (const { name } of schemas) visit(name)
}
