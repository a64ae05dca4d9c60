import { unionOf } from "./members-of.ts"
import { nullType } from "./primitives.ts"
import { maybe, resolve, union } from "./relations.ts"
import type { Type, TypeTable } from "./types.ts"

/** What the elements of an array are: of a union of arrays, of one of them. Undefined for what is not always an array. */
export function elementType(type: Type, types: TypeTable): Type | undefined {
  const resolved = resolve(type, types)
  switch (resolved.kind) {
    case "array":
      return resolved.element
    case "tuple":
      return union(resolved.elements)
    case "any":
    case "error":
      return resolved
    case "union":
      return unionOf(resolved.members, (member) => elementType(member, types))
    default:
      return undefined
  }
}

/** The element at a position, null where there may be none. Undefined for what is not always an array. */
export function typeAt(type: Type, index: number, types: TypeTable): Type | undefined {
  const resolved = resolve(type, types)
  switch (resolved.kind) {
    case "array": {
      // An array of known length has the element.
      const isThere = resolved.length !== undefined && index < resolved.length
      return isThere ? resolved.element : maybe(resolved.element)
    }
    case "tuple":
      return resolved.elements[index] ?? nullType
    case "union":
      return unionOf(resolved.members, (member) => typeAt(member, index, types))
    default:
      return elementType(resolved, types)
  }
}
