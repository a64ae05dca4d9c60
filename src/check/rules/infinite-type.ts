import { remembered } from "../../base/remembered.ts"
import { shortestCycle } from "../../base/shortest-cycle.ts"
import { strongComponents } from "../../base/strong-components.ts"
import type { Span } from "../../source/span.ts"
import type * as Syntax from "../../syntax/tree.ts"
import type { CheckContext } from "../check-context.ts"
import { isForeign } from "../file-space.ts"
import { formatCycle } from "./dependency-cycle.ts"
import { errorType } from "../../types/primitives.ts"
import { partsOf, schemasIn } from "../../types/type-parts.ts"
import type { Type } from "../../types/types.ts"

/** Schemas that no finite value fits. */
export function checkInfiniteTypes(checking: CheckContext): void {
  const typeOf = (name: string): Type => checking.types[name]?.type ?? errorType
  // Schemas of other files are finite: a file with an error is not imported.
  const [own, foreign]: [string[], string[]] = [[], []]
  for (const [name, node] of checking.schemas) (isForeign(node) ? foreign : own).push(name)
  const finite = finiteSchemas(own, foreign, typeOf)
  const infinite = own.filter((name) => !finite.has(name))
  const blamed = new Map(infinite.map((name) => [name, [...new Set(endlessParts(typeOf(name), finite))]]))
  const next = (name: string): readonly string[] => blamed.get(name) ?? []
  const position = new Map(infinite.map((name, index) => [name, index]))
  for (const component of strongComponents(infinite, next)) {
    const [first = ""] = component.toSorted((a, b) => (position.get(a) ?? 0) - (position.get(b) ?? 0))
    const members = new Set(component)
    const path = shortestCycle(first, (name) => next(name).filter((other) => members.has(other)))
    // A schema that merely contains an infinite one is not to blame.
    if (path.length > 1) report(checking, path)
  }
}

function report(checking: CheckContext, circle: readonly string[]): void {
  const [first = "", second = ""] = circle
  const declaration = checking.schemas.get(first)
  if (declaration === undefined) return
  const { path, span } = referenceIn(checking, declaration, second)
  const spelled = formatCycle(circle.map((name) => `schema.${name}`))
  const hint = "Refer to it through an array, `maybe` or a variant case, so that a value can end."
  checking.report("infinite-type", path, span, `A value of schema.${first} would never end: ${spelled}`, hint)
}

/** The least set of schemas that have a finite value, with those that are known. One that joins it may let those join that refer to it. */
function finiteSchemas(
  names: readonly string[],
  known: readonly string[],
  typeOf: (name: string) => Type,
): Set<string> {
  const finite = new Set<string>(known)
  const referred = new Map(names.map((name) => [name, schemasIn(typeOf(name))]))
  const referring = new Map<string, string[]>()
  for (const [name, others] of referred) {
    for (const other of others) remembered(referring, other, () => []).push(name)
  }
  // Schemas that others refer to come first, so that one look finds most of them finite.
  const waiting = strongComponents(names, (name) => referred.get(name) ?? []).flat()
  const looked = new Set<string>()
  for (const name of waiting) {
    looked.add(name)
    if (finite.has(name) || !isFinite(typeOf(name), finite)) continue
    finite.add(name)
    for (const other of referring.get(name) ?? []) if (looked.has(other) && !finite.has(other)) waiting.push(other)
  }
  return finite
}

/** The schemas that keep a value of the type from ending. */
function endlessParts(type: Type, finite: ReadonlySet<string>): string[] {
  if (isFinite(type, finite)) return []
  return type.kind === "ref" ? [type.name] : partsOf(type).flatMap((part) => endlessParts(part, finite))
}

function isFinite(type: Type, finite: ReadonlySet<string>): boolean {
  switch (type.kind) {
    case "ref":
      return finite.has(type.name)
    case "array":
      return type.length === undefined || type.length === 0 || isFinite(type.element, finite)
    case "tuple":
      return type.elements.every((element) => isFinite(element, finite))
    case "record":
      return type.fields.every((field) => isFinite(field.type, finite))
    case "union":
      return type.members.some((member) => isFinite(member, finite))
    case "variant":
      return type.cases.some((one) => one.fields.every((field) => isFinite(field.type, finite)))
    default:
      return true
  }
}

/** The field of a schema in which another is named. */
function referenceIn(
  checking: CheckContext,
  declaration: Syntax.SchemaDeclaration,
  name: string,
): { readonly path: string; readonly span: Span } {
  const path = `schema.${declaration.name.text}`
  const inside = (span: Span, outer: Span): boolean => span.start >= outer.start && span.end <= outer.end
  const references = (checking.references.get(`schema.${name}`) ?? []).filter((found) =>
    inside(found, declaration.body),
  )
  const [span] = references.toSorted((a, b) => a.start - b.start)
  if (span === undefined) return { path, span: declaration.name }
  const item = declaration.body.items.find((one) => inside(span, one))
  return { path: item?.kind === "type-field" ? `${path}.${item.name.text}` : path, span }
}
