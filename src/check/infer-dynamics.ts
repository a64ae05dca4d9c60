import { strongComponents } from "../base/strong-components.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Checking } from "./checking.ts"
import { infer } from "./infer.ts"
import { branchChain } from "./infer-match.ts"
import type { DynamicSymbol } from "./program.ts"
import { assetKindsOf } from "./rules/unsupported-asset.ts"
import type { AgentScope, Scope } from "./scope.ts"
import { runScope } from "./scope.ts"
import { bounded } from "./type-size.ts"

/**
 * The types of the top-level dynamic values, those first that others refer to: in a circle, which is told by its own rule,
 * a value whose type is not known yet counts as one that was reported.
 */
export function inferDynamics(checking: Checking): void {
  for (const name of inOrder(checking.dynamicFields)) {
    const field = checking.dynamicFields.get(name)
    if (field === undefined) continue
    checking.dynamics.set(name, inferDynamic(checking, field, dynamicScope(`dynamic.${name}`)))
  }
  for (const { name, value } of checking.repeatedDynamics) {
    // Nobody refers to the second of two with one name, but what is wrong with it is told.
    infer(checking, value, { ...dynamicScope(`dynamic.${name.text}`), node: undefined })
  }
}

/** The same for the dynamic values of an agent. */
export function inferLocals(checking: Checking, agent: AgentScope, node: string | undefined): void {
  // A loop's variable called `dynamic` hides them all.
  const order = agent.variables.has("dynamic") ? agent.localFields.keys() : inOrder(agent.localFields)
  for (const name of order) {
    const field = agent.localFields.get(name)
    if (field === undefined) continue
    const local = node === undefined ? undefined : name
    const scope = { ...dynamicScope(`agent.${agent.name}.dynamic.${name}`), node, agent, local }
    agent.locals.set(name, inferDynamic(checking, field, scope))
  }
}

function inferDynamic(checking: Checking, field: Syntax.ValueField, scope: Scope): DynamicSymbol {
  const type = bounded(infer(checking, field.value, scope))
  return { field, type, assets: assetKindsOf(checking, field.value, scope) }
}

function dynamicScope(path: string): Scope {
  return { ...runScope(path, "a dynamic value"), assets: "value" }
}

function inOrder(fields: ReadonlyMap<string, Syntax.ValueField>): string[] {
  const referred = (name: string): Set<string> => {
    const names = new Set<string>()
    const field = fields.get(name)
    if (field !== undefined) addReferred(field.value, fields, names)
    return names
  }
  return strongComponents(fields.keys(), referred).flat()
}

/** Which of the dynamic values an expression names. */
function addReferred(
  node: Syntax.Expression,
  fields: ReadonlyMap<string, Syntax.ValueField>,
  names: Set<string>,
): void {
  const add = (part: Syntax.Expression): void => addReferred(part, fields, names)
  const addBlock = (block: Syntax.Block<Syntax.Property> | undefined): void => {
    for (const { value } of block?.items ?? []) {
      if (value.kind === "expression") add(value.expression)
      else if (value.kind === "values") for (const field of value.block.items) add(field.value)
    }
  }
  switch (node.kind) {
    case "string":
      return node.interpolations.forEach(add)
    case "array":
      return node.items.forEach(add)
    case "object":
      for (const field of node.body.items) add(field.value)
      return
    case "group":
      return add(node.expression)
    case "default":
      add(node.left)
      return add(node.right)
    case "chain": {
      if (node.base.kind !== "name") return add(node.base)
      const [step] = node.steps
      if (node.base.text === "dynamic" && step?.kind === "field" && fields.has(step.name.text))
        names.add(step.name.text)
      return
    }
    case "match":
      add(node.value)
      for (const branch of node.body.items) {
        // A branch begins with its case, which may be called `dynamic` too.
        const { value } = branch
        if (branch.case === undefined || branchChain(value) === undefined) add(value)
        else if (value.kind === "default") add(value.right)
      }
      return
    case "call":
    case "read":
    case "render":
      return addBlock(node.block)
    case "asset":
      add(node.value)
      return addBlock(node.block)
    case "number":
    case "word":
    case "missing-expression":
      return
  }
}
