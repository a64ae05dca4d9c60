import type { Type, TypeTable } from "../types/types.ts"
import type { Labelled } from "./labelled.ts"
import { deepestChoice } from "./labelled.ts"
import type { Marks } from "./marks.ts"
import { none, sameSources } from "./marks.ts"

/** Types may be wide: values with more parts are not looked at. */
const mostParts = 500

/** Whether two values of a type have the same labels from the same sources, part by part. */
export function sameLabels(a: Labelled, b: Labelled, type: Type | undefined, types: TypeTable): boolean {
  let left = mostParts
  const same = (one: Labelled, other: Labelled, of: Type | undefined, depth: number): boolean => {
    if (one === other) return true
    const together = (value: Labelled): Marks => value.together ?? none
    const isSame =
      sameSources(one.own, other.own) &&
      sameSources(one.whole, other.whole) &&
      sameSources(together(one), together(other))
    if (!isSame || left-- <= 0) return false
    // A choice has the same labels in all that is deeper.
    if (of === undefined || depth > deepestChoice) return true
    const part = (take: (value: Labelled) => Labelled, inner: Type): boolean => {
      return same(take(one), take(other), inner, depth + 1)
    }
    switch (of.kind) {
      case "record":
        return of.fields.every(({ name, type: inner }) => part((value) => value.field(name), inner))
      case "array":
        return part((value) => value.element(), of.element)
      case "tuple":
        return of.elements.every((inner, index) => part((value) => value.element(index), inner))
      case "variant":
        return of.cases.every(({ name, fields }) => part((value) => value.caseOf(name), { kind: "record", fields }))
      case "union":
        return of.members.every((inner) => same(one, other, inner, depth))
      case "ref":
        return same(one, other, types[of.name]?.type, depth)
      default:
        return true
    }
  }
  return same(a, b, type, 0)
}
