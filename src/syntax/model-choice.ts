import type { Chain, Expression, Loop, ModelEntry, PropertyValue } from "./tree.ts"

/** The models that a property names, in their order, all that a choice may be; undefined where it names none. `loop`: that of the agent. */
export function modelEntries(
  value: PropertyValue,
  loop?: Loop,
): readonly Pick<ModelEntry, "reference" | "block">[] | undefined {
  if (value.kind === "models") return value.entries
  if (value.kind === "configured") return [value]
  if (value.kind !== "expression") return undefined
  const chosen = choiceOf(value, loop)
  const { expression } = value
  const named = chosen === undefined ? (expression.kind === "chain" ? [expression] : undefined) : modelsIn(chosen, loop)
  const names = new Set<string>()
  return named?.flatMap((reference) => {
    const [step] = reference.steps
    const name = step?.kind === "field" ? step.name.text : ""
    if (name !== "" && names.has(name)) return []
    names.add(name)
    return [{ reference, block: undefined }]
  })
}

/** What chooses the model: a `match`, or the variable of a loop over models; undefined where one or a list is named. */
export function choiceOf(value: PropertyValue | undefined, loop: Loop | undefined): Expression | undefined {
  if (value?.kind !== "expression") return undefined
  const { expression } = value
  const isChoice = expression.kind === "match" || expression.kind === "group" || isModelVariable(expression, loop)
  return isChoice ? expression : undefined
}

/** `m` of `for m in [model.a, model.b]` */
export function isModelVariable(node: Expression, loop: Loop | undefined): boolean {
  if (node.kind !== "chain" || node.steps.length > 0 || node.base.kind !== "name") return false
  const { pattern } = loop ?? {}
  return pattern?.kind === "item" && pattern.name.text === node.base.text && loopedModels(loop) !== undefined
}

/** The elements of a loop over models, which are written out. */
export function loopedModels(loop: Loop | undefined): readonly Expression[] | undefined {
  if (loop?.pattern.kind !== "item" || loop.items.kind !== "array") return undefined
  return loop.items.items.some(isModel) ? loop.items.items : undefined
}

function isModel(node: Expression): node is Chain {
  return node.kind === "chain" && node.base.kind === "name" && node.base.text === "model" && node.steps.length > 0
}

function modelsIn(node: Expression, loop: Loop | undefined): Chain[] {
  if (node.kind === "group") return modelsIn(node.expression, loop)
  if (node.kind === "match") return node.body.items.flatMap(({ value }) => modelsIn(value, loop))
  if (isModelVariable(node, loop)) return (loopedModels(loop) ?? []).filter(isModel)
  return isModel(node) ? [node] : []
}
