import { resolve, union } from "./relations.ts"
import type { Type, TypeTable } from "./types.ts"

/** The members of a union; any other type by itself. */
export function membersOf(type: Type, types: TypeTable): readonly Type[] {
  const resolved = resolve(type, types)
  return resolved.kind === "union" ? resolved.members : [resolved]
}

/** The union of what is read from each member; undefined where one of them has nothing to read. */
export function unionOf(members: readonly Type[], read: (member: Type) => Type | undefined): Type | undefined {
  const found = members.map(read)
  return found.every((one) => one !== undefined) ? union(found) : undefined
}
