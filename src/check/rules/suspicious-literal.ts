import { meantWord } from "../../source/hint.ts"
import type * as Syntax from "../../syntax/tree.ts"
import type { CheckContext } from "../check-context.ts"

/** Names of types that are hardly ever a value, with the type that the author probably wanted. */
const typeNames: Readonly<Record<string, string>> = {
  string: "string",
  str: "string",
  number: "number",
  float: "number",
  integer: "integer",
  int: "integer",
  boolean: "boolean",
  bool: "boolean",
}

/** Warns of `name: "string"`: only the text `string` would fit. */
export function suspiciousLiteral(checking: CheckContext, node: Syntax.TypeNode, path: string): void {
  if (node.kind !== "type-literal" || !Object.hasOwn(typeNames, node.value)) return
  const message = `Only the text \`"${node.value}"\` fits this type`
  checking.report("suspicious-literal", path, node, message, meantWord(typeNames[node.value] ?? ""))
}
