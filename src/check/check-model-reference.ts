import { example } from "../source/hint.ts"
import { choiceOf, isModelVariable, loopedModels, modelEntries } from "../syntax/model-choice.ts"
import type * as Syntax from "../syntax/tree.ts"
import { anyType, errorType, stringType } from "../types/primitives.ts"
import type { Type } from "../types/types.ts"
import { withoutCalls } from "./allowance.ts"
import { valueSpan } from "./block-of.ts"
import type { CheckContext } from "./check-context.ts"
import { readProperties } from "./properties.ts"
import { infer } from "./infer.ts"
import { inferMatch } from "./infer-match.ts"
import type { LoopVariable } from "./program.ts"
import { resolveNamed } from "./resolve-named.ts"
import { checkIgnoredSettings } from "./rules/ignored-setting.ts"
import type { Scope } from "./scope.ts"

/** A place that names a declared model. */
export interface ModelReference {
  readonly declaration: Syntax.ModelDeclaration
  readonly reference: Syntax.Chain
  readonly path: string
}

/** Where a model is chosen: what the choice sees, and the loop of the agent. */
interface ChosenIn {
  readonly scope: Scope
  readonly loop: Syntax.Loop | undefined
}

/**
 * `model: model.name`, with or without a block, or a list of them: the declarations that it names. `chosen`: it may also be a choice, of
 * which these are all.
 */
export function checkModelReference(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  path: string,
  chosen?: ChosenIn,
): readonly ModelReference[] {
  if (property === undefined || property.value.kind === "missing") return []
  const { value } = property
  const choice = chosen && choiceOf(value, chosen.loop)
  if (chosen !== undefined && choice !== undefined) return checkChoice(checking, value, choice, path, chosen)
  const isChoice = choiceOf(value, undefined) !== undefined
  const entries = isChoice ? undefined : modelEntries(value)
  const [first = "name"] = checking.models.keys()
  if (isChoice) {
    const hint = example(`model.${first}`)
    checking.report("type-mismatch", path, valueSpan(property), "Only an agent's own model can be chosen", hint)
    return []
  }
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

/** `match … { a: model.large, _ model.small }`, or the variable of a loop over models. */
function checkChoice(
  checking: CheckContext,
  value: Syntax.PropertyValue,
  choice: Syntax.Expression,
  path: string,
  { scope, loop }: ChosenIn,
): readonly ModelReference[] {
  inferChosen(checking, choice, { ...withoutCalls(scope), path, place: "the choice of a model" }, loop)
  return (modelEntries(value, loop) ?? []).flatMap(({ reference }) => {
    const [step] = reference.steps
    const declaration = step?.kind === "field" ? checking.models.get(step.name.text) : undefined
    return declaration === undefined ? [] : [{ declaration, reference, path }]
  })
}

/** In place of a value there is a model: at run time its name. */
function inferChosen(
  checking: CheckContext,
  node: Syntax.Expression,
  scope: Scope,
  loop: Syntax.Loop | undefined,
): Type {
  const type = chosenType(checking, node, scope, loop)
  checking.expressionTypes.set(node, type)
  return type
}

function chosenType(
  checking: CheckContext,
  node: Syntax.Expression,
  scope: Scope,
  loop: Syntax.Loop | undefined,
): Type {
  switch (node.kind) {
    case "group":
      return inferChosen(checking, node.expression, scope, loop)
    case "match":
      return inferMatch(checking, node, scope, (_, part, inner) => {
        return part === node.value ? infer(checking, part, inner) : inferChosen(checking, part, inner, loop)
      })
    case "missing-expression":
      return errorType
    case "chain": {
      if (isModelVariable(node, loop) && node.base.kind === "name") {
        checking.roots.set(node, { kind: "variable", name: node.base.text })
        return stringType
      }
      return nameModel(checking, node, scope.path)
    }
    default: {
      const [first = "name"] = checking.models.keys()
      checking.report("type-mismatch", scope.path, node, "Expected a model", example(`model.${first}`))
      return errorType
    }
  }
}

function nameModel(checking: CheckContext, node: Syntax.Chain, path: string): Type {
  const declaration = resolveNamed(checking, node, "model", checking.models, path)
  if (declaration === undefined) return errorType
  checking.roots.set(node, { kind: "model", name: declaration.name.text })
  return stringType
}

/** The variables of an agent's loop over models; undefined for a loop over values. */
export function modelVariables(
  checking: CheckContext,
  loop: Syntax.Loop,
  scope: Scope,
): Map<string, LoopVariable> | undefined {
  const models = loopedModels(loop)
  if (models === undefined || loop.pattern.kind !== "item") return undefined
  for (const one of models) {
    if (one.kind === "chain") checking.expressionTypes.set(one, nameModel(checking, one, scope.path))
    else inferChosen(checking, one, scope, undefined)
  }
  checking.expressionTypes.set(loop.items, { kind: "array", element: anyType })
  return new Map([[loop.pattern.name.text, { name: loop.pattern.name, type: errorType, isModel: true }]])
}
