import type { Span } from "../source/span.ts"
import type { Checking } from "./checking.ts"
import type { Type } from "./types.ts"

/** Parts of the largest type: far over what anyone writes, far under what would cost a reader of it dearly. */
const mostParts = 10_000
const mostMembers = 1000

const sizes = new WeakMap<Type, number>()

/**
 * How many parts a type has when it is written out. `schema.a.f` and `dynamic.x` share types, so that a short source can
 * describe one that doubles with every line.
 */
function partsOf(type: Type): number {
  const known = sizes.get(type)
  if (known !== undefined) return known
  const sum = (types: readonly Type[]): number => types.reduce((total, one) => total + partsOf(one), 1)
  let parts: number
  switch (type.kind) {
    case "array":
      parts = 1 + partsOf(type.element)
      break
    case "tuple":
      parts = sum(type.elements)
      break
    case "union":
      parts = sum(type.members)
      break
    case "record":
      parts = sum(type.fields.map((field) => field.type))
      break
    case "variant":
      parts = sum(type.cases.flatMap((one) => one.fields.map((field) => field.type))) + type.cases.length
      break
    default:
      parts = 1
  }
  sizes.set(type, parts)
  return parts
}

/** The type itself, or an error (reported) when it is too large to be worked with. */
export function limitType<T extends Type>(
  checking: Checking,
  type: T,
  path: string,
  span: Span,
): T | { kind: "error" } {
  if (partsOf(type) <= mostParts) return type
  const message = `The type of ${path} has more than ${mostParts.toLocaleString("en")} parts`
  checking.report(
    "invalid-value",
    path,
    span,
    message,
    "Name its parts with schemas, and refer to those as `schema.name`.",
  )
  return { kind: "error" }
}

export function tooManyMembers(checking: Checking, count: number, path: string, span: Span): boolean {
  if (count <= mostMembers) return false
  checking.report("invalid-value", path, span, `A union has at most ${mostMembers.toLocaleString("en")} members`)
  return true
}
