import { remembered } from "../base/remembered.ts"
import { noElementType } from "./primitives.ts"
import { isAssignable, union } from "./relations.ts"
import { partsOf } from "./type-parts.ts"
import type { Type, TypeTable } from "./types.ts"

/**
 * The type of a value that is of one of two types: the wider one where one fits the other, else both. `any` agrees with everything, but
 * nothing is known of its values: a type with an untyped part fits into no other.
 */
export function eitherOf(a: Type, b: Type, types: TypeTable): Type {
  const [knownA, knownB] = [knowledgeOf(a), knowledgeOf(b)]
  const aFits = knownA !== "untyped" && isAssignable(a, b, types)
  const bFits = knownB !== "untyped" && isAssignable(b, a, types)
  if (aFits && bFits && knownA === "empty") return knownB === "empty" ? union([a, b]) : b
  if (bFits) return a
  return aFits ? b : union([a, b])
}

type Knowledge = "typed" | "empty" | "untyped"

const known = new WeakMap<Type, Knowledge>()

/** Whether a part of a value of this type is known at run time only; `empty`: or is a list without elements. */
function knowledgeOf(type: Type): Knowledge {
  if (type === noElementType) return "empty"
  if (type.kind === "any") return "untyped"
  return remembered(known, type, (whole) => {
    const parts = new Set(partsOf(whole).map(knowledgeOf))
    return parts.has("untyped") ? "untyped" : parts.has("empty") ? "empty" : "typed"
  })
}
