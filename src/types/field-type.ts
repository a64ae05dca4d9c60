import { anyType } from "./primitives.ts"
import { fileFields } from "./file-value.ts"
import { fieldNamed } from "./field-named.ts"
import { unionOf } from "./members-of.ts"
import { resolve, tagType } from "./relations.ts"
import type { Type, TypeTable } from "./types.ts"

/**
 * The type of a field that every value of the type has: of a union, what one of its members gives; of a variant, its tag.
 * Undefined where a value may lack the field.
 */
export function fieldType(type: Type, name: string, types: TypeTable): Type | undefined {
  const resolved = resolve(type, types)
  switch (resolved.kind) {
    case "record":
      return fieldNamed(resolved, name)?.type
    case "variant":
      return resolved.tag === name ? tagType(resolved) : undefined
    case "file":
      return fieldNamed(fileFields, name)?.type
    case "object":
    case "any":
      return anyType
    case "error":
      return resolved
    case "union":
      return unionOf(resolved.members, (member) => fieldType(member, name, types))
    default:
      return undefined
  }
}
