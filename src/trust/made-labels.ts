import { remembered } from "../base/remembered.ts"
import type { Field, Type } from "../types/types.ts"
import { maxChoices, isMaybe, type ClosedTypes } from "./closed-type.ts"
import { flat, lazy, list, record, tuple, variant, type Labelled } from "./label-tree.ts"
import { chosenFrom, join, type Marks } from "./marks.ts"

/**
 * The labels of what a model made after it had read values with these. Of a closed part it can only choose what the author wrote:
 * strangers chose it, and did not write it. Private data shows in a choice, too.
 */
export function made(output: Type, read: Marks, closed: ClosedTypes): Labelled {
  const chosen = chosenFrom(read)
  // Twenty letters are a text, taken apart or not.
  if (chosen === read || closed.of(output).count > maxChoices) return flat(read)
  const known = new Map<Type, Labelled>()
  const fields = (of: readonly Field[]): Labelled => record(new Map(of.map(({ name, type }) => [name, part(type)])))
  const parts = (type: Type): Labelled => {
    switch (type.kind) {
      case "record":
        return fields(type.fields)
      case "tuple":
        return tuple(type.elements.map(part))
      case "array":
        return list(chosen, part(type.element), chosen)
      case "variant":
        return variant(new Map(type.cases.map((one) => [one.name, fields(one.fields)])))
      default:
        return flat(read)
    }
  }
  const part = (type: Type): Labelled => {
    const inner = unwrapped(type, closed)
    if (inner !== type) return part(inner)
    return remembered(known, type, () => {
      if (!closed.of(type).isOpen) return flat(chosen)
      // Nothing in it is closed that could be told from the others.
      if (!isComposed(type)) return flat(read)
      return lazy(chosen, join(read, chosen), () => parts(type))
    })
  }
  return part(output)
}

/** `T` of `maybe T`, and of a schema its type. */
function unwrapped(type: Type, closed: ClosedTypes): Type {
  if (type.kind === "ref") return closed.named(type.name) ?? type
  const isWrapped = type.kind === "union" && isMaybe(type)
  return (isWrapped ? type.members.find(({ kind }) => kind !== "null") : undefined) ?? type
}

function isComposed(type: Type): boolean {
  if (type.kind === "array") return type.length !== undefined
  return type.kind === "record" || type.kind === "tuple" || type.kind === "variant"
}
