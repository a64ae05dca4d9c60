import { importKindOf, importKinds } from "../syntax/import-kinds.ts"
import type * as Syntax from "../syntax/tree.ts"
import { checkApproval, refuseApproval } from "./check-approval.ts"
import type { CheckContext } from "./check-context.ts"
import { infer } from "./infer.ts"
import { checkBindings, resolveImport } from "./infer-invoke.ts"
import { readProperties } from "./properties.ts"
import type { Scope } from "./scope.ts"

/** `uses: [tool.a, tool.b { … }]`: what the model may use. */
export function checkUses(checking: CheckContext, property: Syntax.Property | undefined, scope: Scope): void {
  if (property === undefined || property.value.kind === "missing") return
  const path = `${scope.path}.${property.name.text}`
  if (property.value.kind !== "uses") {
    const value = property.value.kind === "expression" ? property.value.expression : undefined
    const hint = value?.kind === "chain" ? `Write \`[${checking.quote(value)}]\`.` : "Write `uses: [tool.name]`."
    checking.report(
      "type-mismatch",
      path,
      value ?? property.name,
      "Expected a list of tools, resources and prompts",
      hint,
    )
    return
  }
  const seen = new Set<string>()
  for (const entry of property.value.entries) {
    const written = checking.quote(entry.reference)
    if (seen.has(written)) {
      const message = `\`${written}\` is here already`
      checking.report("duplicate-field", path, entry.reference, message, "Remove one of the two.")
    }
    seen.add(written)
    checkUse(checking, entry, { ...scope, path })
  }
}

function checkUse(checking: CheckContext, entry: Syntax.UseEntry, scope: Scope): void {
  const { reference, block } = entry
  const { base } = reference
  if (base.kind !== "name") return
  const kind = importKindOf(base.text)
  if (kind === undefined) {
    const meant = importKinds.find((one) => checking.imports(one).has(base.text))
    const hint =
      meant === undefined
        ? "A use is `tool.name`, `resource.name` or `prompt.name`."
        : `Did you mean ${meant}.${base.text}?`
    const message = `Expected a tool, resource or prompt, found \`${checking.quote(reference)}\``
    checking.report("type-mismatch", scope.path, reference, message, hint)
    return
  }
  const symbol = resolveImport(checking, reference, kind, scope.path)
  const [step] = reference.steps
  const path = step?.kind === "field" ? `${scope.path}.${step.name.text}` : scope.path
  const properties = readProperties(checking, "use", block, path, reference)
  checkBindings(checking, properties.get("bindings"), symbol, kind, { ...scope, path }, infer)
  if (kind === "tool") checkApproval(checking, properties.get("approval"), { ...scope, path }, infer)
  else refuseApproval(checking, properties.get("approval"), kind, path)
}
