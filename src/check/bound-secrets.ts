import { propertyOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"

/** `name: secrets.other` of the block, by the other file's names; null for what is not written like that. */
export function boundSecrets({
  body,
}: Syntax.FileImportDeclaration | Syntax.WorkflowDeclaration): ReadonlyMap<string, string> {
  const value = propertyOf(body, "secrets")?.value
  const bound = new Map<string, string>()
  for (const { name, value: given } of value?.kind === "values" ? value.block.items : []) {
    const own = secretNamed(given)
    if (own !== undefined) bound.set(name.text, own)
  }
  return bound
}

export function secretNamed(node: Syntax.Expression): string | undefined {
  if (node.kind !== "chain" || node.base.kind !== "name" || node.base.text !== "secrets") return undefined
  const [step, ...others] = node.steps
  return step?.kind === "field" && others.length === 0 ? step.name.text : undefined
}
