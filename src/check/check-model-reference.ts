import { isCutOff } from "../syntax/cut-off.ts"
import type * as Syntax from "../syntax/tree.ts"
import { checkInference } from "./check-inference.ts"
import type { CheckContext } from "./check-context.ts"
import { nameOf, unknownReference } from "./infer-steps.ts"
import { readProperties } from "./properties.ts"

/** `model: model.name`, with or without a block; the declaration that it names. */
export function checkModelReference(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  path: string,
): Syntax.ModelDeclaration | undefined {
  if (property === undefined || property.value.kind === "missing") return undefined
  const { value } = property
  if (value.kind === "configured") {
    const properties = readProperties(checking, "configured-model", value.block, path, property.name)
    const model = resolveModel(checking, value.reference, path)
    const provider = checking.providers.get(model?.provider?.text ?? "")
    checkInference(checking, properties.get("inference"), `${path}.inference`, provider)
    return model
  }
  if (value.kind === "expression" && value.expression.kind === "chain") {
    return resolveModel(checking, value.expression, path)
  }
  const span = value.kind === "expression" ? value.expression : property.name
  checking.report("type-mismatch", path, span, "Expected a model", `Write \`model.${example(checking)}\`.`)
  return undefined
}

function resolveModel(checking: CheckContext, chain: Syntax.Chain, path: string): Syntax.ModelDeclaration | undefined {
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
