import { isCutOff } from "../syntax/cut-off.ts"
import type * as Syntax from "../syntax/tree.ts"
import { checkInference } from "./check-inference.ts"
import type { CheckContext } from "./check-context.ts"
import { nameOf, unknownReference } from "./infer-steps.ts"
import { readProperties } from "./properties.ts"

/** A place that names a declared model. */
export interface ModelReference {
  readonly declaration: Syntax.ModelDeclaration
  readonly reference: Syntax.Chain
  readonly path: string
}

/** `model: model.name`, with or without a block, or a list of them: the declarations that it names. */
export function checkModelReference(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  path: string,
): readonly ModelReference[] {
  if (property === undefined || property.value.kind === "missing") return []
  const { value } = property
  const entries = modelEntries(value)
  if (entries === undefined) {
    const span = value.kind === "expression" ? value.expression : property.name
    checking.report("type-mismatch", path, span, "Expected a model", `Write \`model.${example(checking)}\`.`)
    return []
  }
  if (entries.length === 0 && value.kind === "models" && value.close !== undefined) {
    const span = { start: value.open.start, end: value.close.end }
    const hint = `Write \`[model.${example(checking)}]\`.`
    checking.report("type-mismatch", path, span, "Expected at least one model", hint)
  }
  const found = new Map<string, ModelReference>()
  for (const { reference, block } of entries) {
    const properties =
      block === undefined ? undefined : readProperties(checking, "configured-model", block, path, property.name)
    const declaration = resolveModel(checking, reference, path)
    const provider = checking.providers.get(declaration?.provider?.text ?? "")
    checkInference(checking, properties?.get("inference"), `${path}.inference`, provider)
    if (declaration === undefined) continue
    const name = declaration.name.text
    if (found.has(name)) {
      const message = `\`model.${name}\` is in the list already`
      checking.report("duplicate-field", path, reference, message, "Remove one of the two.")
    } else found.set(name, { declaration, reference, path })
  }
  return [...found.values()]
}

/** The models that a property names, in their order; undefined where it names none. */
export function modelEntries(
  value: Syntax.PropertyValue,
): readonly Pick<Syntax.ModelEntry, "reference" | "block">[] | undefined {
  if (value.kind === "models") return value.entries
  if (value.kind === "configured") return [value]
  if (value.kind !== "expression" || value.expression.kind !== "chain") return undefined
  return [{ reference: value.expression, block: undefined }]
}

export function resolveModel(
  checking: CheckContext,
  chain: Syntax.Chain,
  path: string,
): Syntax.ModelDeclaration | undefined {
  const [step, extra] = chain.steps
  if (step === undefined && isCutOff(chain)) return undefined
  if (chain.base.kind !== "name" || chain.base.text !== "model" || step?.kind !== "field") {
    const bare = chain.base.kind === "name" && chain.steps.length === 0 ? chain.base.text : undefined
    const meant = bare !== undefined && checking.models.has(bare) ? bare : example(checking)
    const message = `Expected a model, found \`${checking.quote(chain)}\``
    checking.report("type-mismatch", path, chain, message, `Write \`model.${meant}\`.`)
    return undefined
  }
  const name = step.name.text
  const declaration = checking.models.get(name)
  if (declaration === undefined) unknownReference(checking, chain, step.name, () => checking.models.keys(), path)
  else {
    checking.refer(`model.${name}`, step.name)
    if (extra !== undefined && (extra.kind !== "index" || extra.index !== undefined)) {
      unknownReference(checking, chain, nameOf(checking, extra), () => [], path, `Write \`model.${name}\`.`)
    }
  }
  return declaration
}

function example(checking: CheckContext): string {
  const [first] = checking.models.keys()
  return first ?? "name"
}
