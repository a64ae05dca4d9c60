import { example } from "../source/hint.ts"
import type * as Syntax from "../syntax/tree.ts"
import { valueSpan } from "./block-of.ts"
import type { CheckContext } from "./check-context.ts"
import { readProperties } from "./properties.ts"
import { resolveNamed } from "./resolve-named.ts"
import { checkIgnoredSettings } from "./rules/ignored-setting.ts"

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
  const [first = "name"] = checking.models.keys()
  if (entries === undefined) {
    checking.report("type-mismatch", path, valueSpan(property), "Expected a model", example(`model.${first}`))
    return []
  }
  if (entries.length === 0 && value.kind === "models" && value.close !== undefined) {
    const span = { start: value.open.start, end: value.close.end }
    const hint = example(`[model.${first}]`)
    checking.report("type-mismatch", path, span, "Expected at least one model", hint)
  }
  const found = new Map<string, ModelReference>()
  for (const { reference, block } of entries) {
    const properties =
      block === undefined ? undefined : readProperties(checking, "configured-model", block, path, property.name)
    const declaration = resolveNamed(checking, reference, "model", checking.models, path)
    const provider = checking.providers.get(declaration?.provider?.text ?? "")
    const called = provider === undefined ? [] : [{ provider, model: declaration }]
    checkIgnoredSettings(checking, properties?.get("inference"), `${path}.inference`, called)
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
