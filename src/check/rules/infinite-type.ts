import { strongComponents } from "../../base/strong-components.ts"
import type * as Syntax from "../../syntax/tree.ts"
import type { Checking } from "../checking.ts"
import type { Type } from "../types.ts"

/** Schemas of which no finite value exists. */
export function checkInfiniteTypes(checking: Checking): void {
  const finite = finiteSchemas(checking)
  const infinite = [...checking.schemas.keys()].filter((name) => !finite.has(name))
  const needs = (name: string): string[] =>
    neededBy(checking.types[name]?.type ?? { kind: "error" }).filter((other) => !finite.has(other))
  const order = new Map(infinite.map((name, index) => [name, index]))
  const place = (name: string): number => order.get(name) ?? Number.POSITIVE_INFINITY
  for (const component of strongComponents(infinite, needs)) {
    const members = new Set(component)
    const first = component.reduce((one, other) => (place(other) < place(one) ? other : one))
    const declaration = checking.schemas.get(first)
    // A schema that merely contains an infinite one is not to blame.
    if (declaration === undefined || (component.length === 1 && !needs(first).includes(first))) continue
    const path = circle(first, members, needs)
    const found = referenceIn(checking, declaration, path[1] ?? first)
    const spelled = path.map((name) => `schema.${name}`).join(" → ")
    const hint = "Refer to it through an array, `maybe` or a variant case, so that a value can end."
    checking.report(
      "infinite-type",
      found.path,
      found.span,
      `A value of schema.${first} would never end: ${spelled}`,
      hint,
    )
  }
}

/** The least set of schemas that have a finite value. One that joins it may let those join that refer to it. */
function finiteSchemas(checking: Checking): Set<string> {
  const finite = new Set<string>()
  const referring = new Map<string, string[]>()
  for (const name of checking.schemas.keys()) {
    for (const other of neededBy(checking.types[name]?.type ?? { kind: "error" })) {
      const names = referring.get(other)
      if (names === undefined) referring.set(other, [name])
      else names.push(name)
    }
  }
  const queue = [...checking.schemas.keys()]
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (finite.has(name) || !isFinite(checking.types[name]?.type ?? { kind: "error" }, finite)) continue
    finite.add(name)
    queue.push(...(referring.get(name) ?? []))
  }
  return finite
}

/** `known` keeps what was found out in this question: types share their parts, and must not be walked again and again. */
function isFinite(type: Type, finite: ReadonlySet<string>, known = new Map<Type, boolean>()): boolean {
  const before = known.get(type)
  if (before !== undefined) return before
  const inner = (part: Type): boolean => isFinite(part, finite, known)
  const found = finiteByParts(type, finite, inner)
  known.set(type, found)
  return found
}

function finiteByParts(type: Type, finite: ReadonlySet<string>, inner: (part: Type) => boolean): boolean {
  switch (type.kind) {
    case "ref":
      return finite.has(type.name)
    case "array":
      return type.length === undefined || type.length === 0 || inner(type.element)
    case "tuple":
      return type.elements.every(inner)
    case "record":
      return type.fields.every((field) => inner(field.type))
    case "union":
      return type.members.some(inner)
    case "variant":
      return type.cases.some((one) => one.fields.every((field) => inner(field.type)))
    default:
      return true
  }
}

/** The schemas that a value of the type always contains one of. */
function neededBy(type: Type): string[] {
  const names = new Set<string>()
  const seen = new Set<Type>()
  const visit = (part: Type): void => {
    if (seen.has(part)) return
    seen.add(part)
    if (part.kind === "ref") names.add(part.name)
    else if (part.kind === "array" && part.length !== undefined && part.length > 0) visit(part.element)
    else if (part.kind === "tuple") part.elements.forEach(visit)
    else if (part.kind === "union") part.members.forEach(visit)
    else if (part.kind === "record") for (const field of part.fields) visit(field.type)
    else if (part.kind === "variant") for (const one of part.cases) for (const field of one.fields) visit(field.type)
  }
  visit(type)
  return [...names]
}

function circle(first: string, members: ReadonlySet<string>, needs: (name: string) => string[]): string[] {
  const path = [first]
  const seen = new Set(path)
  for (let at = first; ;) {
    const next =
      needs(at).find((name) => name === first) ?? needs(at).find((name) => members.has(name) && !seen.has(name))
    if (next === undefined) return path
    path.push(next)
    if (next === first) return path
    seen.add(next)
    at = next
  }
}

/** The field of a schema in which another is named. */
function referenceIn(
  checking: Checking,
  declaration: Syntax.SchemaDeclaration,
  name: string,
): { path: string; span: Syntax.Name } {
  const path = `schema.${declaration.name.text}`
  const references = checking.references.get(`schema.${name}`) ?? []
  for (const item of declaration.body.items) {
    const span = references.find((found) => found.start >= item.start && found.end <= item.end)
    if (span === undefined) continue
    const place = item.kind === "type-field" ? `${path}.${item.name.text}` : path
    return { path: place, span: { kind: "name", text: name, quoted: false, start: span.start, end: span.end } }
  }
  return { path, span: declaration.name }
}
