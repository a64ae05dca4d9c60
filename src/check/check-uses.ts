import { example, meantReference, meantWord } from "../source/hint.ts"
import { importKindOf, importKinds, isWorkflow } from "../syntax/import-kinds.ts"
import type * as Syntax from "../syntax/tree.ts"
import { withoutSecrets } from "./allowance.ts"
import { blockOf } from "./block-of.ts"
import { checkApproval, refuseApproval } from "./check-approval.ts"
import type { CheckContext } from "./check-context.ts"
import { infer } from "./infer.ts"
import { checkBindings, checkGiven, declaredBindings, resolveImport } from "./infer-invoke.ts"
import { resolveWorkflow, takenBy } from "./infer-workflow-call.ts"
import { isBareUse, readProperties } from "./properties.ts"
import { at, type Scope } from "./scope.ts"
import { holdsFile } from "../types/holds-file.ts"
import type { RecordType } from "../types/types.ts"
import { checkSteered, checkSteeredUse } from "./destination-inputs.ts"

/** `uses: [tool.a, tool.b { … }]`: what the model may use. */
export function checkUses(checking: CheckContext, property: Syntax.Property | undefined, scope: Scope): void {
  if (property === undefined || property.value.kind === "missing") return
  const path = `${scope.path}.${property.name.text}`
  if (property.value.kind !== "uses") {
    const value = property.value.kind === "expression" ? property.value.expression : undefined
    const hint = value?.kind === "chain" ? example(`[${checking.quote(value)}]`) : "Write `uses: [tool.name]`."
    checking.report(
      "type-mismatch",
      path,
      value ?? property.name,
      "Expected a list of tools, resources and prompts",
      hint,
    )
    return
  }
  const { entries } = property.value
  // Under its old name, the name of the list is reported with what it holds.
  if (property.name.text !== "uses" && entries.every(isBareUse)) {
    for (const { reference } of entries) {
      const { base } = reference
      if (base.kind === "name") for (const kind of importKinds) checking.refer(`${kind}.${base.text}`, base)
    }
    return
  }
  if (reportBareList(checking, entries, path)) return
  const seen = new Set<string>()
  for (const entry of entries) {
    const written = checking.quote(entry.reference)
    if (seen.has(written)) {
      const message = `\`${written}\` is here already`
      checking.report("duplicate-field", path, entry.reference, message, "Remove one of the two.")
    }
    seen.add(written)
    checkUse(checking, entry, { ...scope, path })
  }
}

/** `uses: [find, restart]`: one mistake, however many names there are. */
function reportBareList(checking: CheckContext, entries: readonly Syntax.UseEntry[], path: string): boolean {
  const [first, last] = [entries[0]?.reference, entries.at(-1)?.reference]
  if (first === undefined || last === undefined || first === last) return false
  const meant = entries.map(({ reference: { base, steps }, block }) => {
    if (base.kind !== "name" || steps.length > 0 || block !== undefined) return undefined
    const kind = importKinds.find((one) => checking.imports(one).has(base.text))
    return kind && `${kind}.${base.text}`
  })
  if (meant.includes(undefined)) return false
  const span = { start: first.start, end: last.end }
  const message = `Expected tools, resources or prompts, found \`${checking.quote(span)}\``
  checking.report("type-mismatch", path, span, message, meantWord(meant.join(", ")))
  return true
}

function checkUse(checking: CheckContext, entry: Syntax.UseEntry, scope: Scope): void {
  const { reference, block } = entry
  const { base } = reference
  if (base.kind !== "name") return
  if (isWorkflow(reference)) return checkWorkflowUse(checking, entry, scope)
  const kind = importKindOf(base.text)
  if (kind === undefined) {
    const isCalled = checking.workflows.has(base.text)
    const meant = isCalled ? "workflow" : importKinds.find((one) => checking.imports(one).has(base.text))
    const hint =
      meant === undefined
        ? "A use is `tool.name`, `resource.name`, `prompt.name` or `workflow.name`."
        : meantReference(`${meant}.${base.text}`, reference)
    const message = `Expected a tool, resource or prompt, found \`${checking.quote(reference)}\``
    checking.report("type-mismatch", scope.path, reference, message, hint)
    return
  }
  const symbol = resolveImport(checking, reference, kind, scope.path)
  const [step] = reference.steps
  const path = step?.kind === "field" ? `${scope.path}.${step.name.text}` : scope.path
  const properties = readProperties(checking, "use", block, path, reference)
  const bound = checkBindings(checking, properties.get("bindings"), symbol, kind, { ...scope, path }, infer, true)
  if (symbol !== undefined && kind === "tool") {
    refuseOpenFiles(checking, symbol.input, new Set([...bound, ...declaredBindings(symbol)]), reference, path)
  }
  if (kind === "tool") checkApproval(checking, properties.get("approval"), { ...scope, path }, infer)
  else refuseApproval(checking, properties.get("approval"), kind, path)
}

/** `workflow.triage { max_calls: 3, bindings { … } }`: a file that the model may call as a tool. */
function checkWorkflowUse(checking: CheckContext, { reference, block }: Syntax.UseEntry, scope: Scope): void {
  const symbol = resolveWorkflow(checking, reference, scope.path)
  const path = symbol === undefined ? scope.path : `${scope.path}.${symbol.name.text}`
  const inner: Scope = { ...scope, path }
  const properties = readProperties(checking, "use", block, path, reference)
  const inBindings: Scope = { ...withoutSecrets(at(inner, "bindings")), place: "the bindings of a workflow" }
  const fields = blockOf(checking, properties.get("bindings"), inBindings.path)?.items ?? []
  const bound = checkGiven(checking, fields, takenBy(symbol), inBindings, infer)
  checkApproval(checking, properties.get("approval"), inner, infer)
  if (symbol === undefined) return
  checkSteered(checking, symbol, fields, inBindings.path)
  checkSteeredUse(checking, symbol, bound, reference, path)
  refuseOpenFiles(checking, symbol.input, bound, reference, path)
}

/** Reports arguments with files that nothing binds: a model has no file to give. */
function refuseOpenFiles(
  checking: CheckContext,
  input: RecordType | undefined,
  bound: ReadonlySet<string>,
  reference: Syntax.Chain,
  path: string,
): void {
  for (const { name, type } of input?.fields ?? []) {
    if (bound.has(name) || !holdsFile(type, checking.types)) continue
    const message = `A model cannot give a file, and nothing binds the argument \`${name}\``
    const hint = `Bind it: \`${checking.quote(reference)} { bindings { ${name}: input.${name} } }\`.`
    checking.report("missing-property", `${path}.bindings.${name}`, reference, message, hint)
  }
}
