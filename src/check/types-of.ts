import { write } from "../source/hint.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { resolveRecord, resolveType } from "./resolve-types.ts"
import type { RecordType } from "../types/types.ts"

/** The type that a property such as `output { … }` declares; `output: string` and its like are an old spelling. */
export function typesOf(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  path: string,
): RecordType | undefined {
  if (property?.value.kind === "types") return resolveRecord(checking, [property.value.block], path)
  if (property?.value.kind !== "type" || property.value.type.kind === "missing-type") return undefined
  const { type } = property.value
  const name = property.name.text
  resolveType(checking, type, path)
  const message = `\`${name}: type\` is now written \`${name} { field: type }\``
  const hint = write(`${name} { value: ${checking.quote(type)} }`, property)
  checking.report("obsolete-syntax", path, property.name, message, hint)
  return undefined
}
