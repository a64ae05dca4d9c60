import { remembered } from "../base/remembered.ts"
import type { PrimitiveKind, Type, UnionType } from "./types.ts"

/** The members of a union by sort, so that a union of a thousand literals is not searched a thousand times. */
export interface UnionIndex {
  readonly kinds: ReadonlySet<PrimitiveKind>
  /** Values of literals and enums. */
  readonly strings: ReadonlySet<string>
  /** Records, variants, arrays, tuples, references. */
  readonly others: readonly Type[]
}

const indexes = new WeakMap<UnionType, UnionIndex>()

export function indexOfUnion(type: UnionType): UnionIndex {
  return remembered(indexes, type, buildIndex)
}

function buildIndex(type: UnionType): UnionIndex {
  const kinds = new Set<PrimitiveKind>()
  const strings = new Set<string>()
  const others: Type[] = []
  for (const member of type.members) {
    switch (member.kind) {
      case "literal":
        strings.add(member.value)
        break
      case "enum":
        for (const value of member.values) strings.add(value)
        break
      case "record":
      case "map":
      case "variant":
      case "array":
      case "tuple":
      case "union":
      case "ref":
        others.push(member)
        break
      default:
        kinds.add(member.kind)
    }
  }
  return { kinds, strings, others }
}
