import type * as Syntax from "../syntax/tree.ts"
import { nullable } from "../types/relations.ts"
import type { Type } from "../types/types.ts"
import type { CheckContext } from "./check-context.ts"

/** Warns of a value that may be null where it becomes text; not beside a syntax error, which may have made it so (`subject?: string`). */
export function readableNull(
  checking: CheckContext,
  node: Syntax.Expression,
  type: Type,
  path: string,
  place: "interpolation" | "file",
): void {
  if (checking.tree.errors.length > 0 || !nullable(type, checking.types)) return
  const written = checking.quote(node)
  const isAlways = type.kind === "null"
  const message = isAlways
    ? `\`${written}\` is always null, and reads \`null\``
    : `\`${written}\` may be null, and would then read \`null\``
  const withDefault = `${written} ?? "…"`
  const example = place === "file" ? withDefault : `{{ ${withDefault} }}`
  if (isAlways) return checking.report("nullable-interpolation", path, node, message, "Remove it.")
  const data = { kind: "default", value: '""' } as const
  checking.report("nullable-interpolation", path, node, message, { text: `Give a default: \`${example}\`.`, data })
}
