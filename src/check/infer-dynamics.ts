import { strongComponents } from "../base/strong-components.ts"
import { eachChain } from "../syntax/each-chain.ts"
import type * as Syntax from "../syntax/tree.ts"
import { dynamicPlace } from "./allowance.ts"
import type { CheckContext } from "./check-context.ts"
import { infer } from "./infer.ts"
import type { DynamicSymbol } from "./program.ts"
import { assetsIn } from "./rules/unsupported-asset.ts"
import { runScope, type Scope } from "./scope.ts"
import { bounded } from "../types/type-size.ts"

/**
 * The types of the top-level dynamic values, those first that others refer to: in a cycle, which has its own rule,
 * a value whose type is not known yet counts as one that was reported.
 */
export function inferDynamics(checking: CheckContext): void {
  for (const name of inOrder(checking.dynamicFields)) {
    const field = checking.dynamicFields.get(name)
    if (field === undefined) continue
    checking.dynamics.set(name, inferDynamic(checking, field, dynamicScope(`dynamic.${name}`)))
  }
  for (const { name, value } of checking.repeatedDynamics) {
    // Nothing refers to the second of two with one name, but its mistakes are reported.
    infer(checking, value, { ...dynamicScope(`dynamic.${name.text}`), node: undefined })
  }
}

/** The same for the dynamic values of an agent. */
export function inferLocals(checking: CheckContext, outer: Scope): void {
  const { agent, variables, hasBrokenLoop, node, present } = outer
  if (agent === undefined) return
  // A loop's variable called `dynamic` hides them all.
  const order = variables.has("dynamic") ? agent.localFields.keys() : inOrder(agent.localFields)
  for (const name of order) {
    const field = agent.localFields.get(name)
    if (field === undefined) continue
    const local = node === undefined ? undefined : name
    const scope = {
      ...dynamicScope(`agent.${agent.name}.dynamic.${name}`),
      node,
      agent,
      variables,
      hasBrokenLoop,
      local,
      present,
    }
    agent.locals.set(name, inferDynamic(checking, field, scope))
  }
}

function inferDynamic(checking: CheckContext, field: Syntax.ValueField, scope: Scope): DynamicSymbol {
  const type = bounded(infer(checking, field.value, scope))
  return { field, type, assets: assetsIn(checking, field.value, scope) }
}

function dynamicScope(path: string): Scope {
  return { ...runScope(path, "a dynamic value"), ...dynamicPlace }
}

function inOrder(fields: ReadonlyMap<string, Syntax.ValueField>): string[] {
  const referred = (name: string): Set<string> => {
    const names = new Set<string>()
    const field = fields.get(name)
    if (field === undefined) return names
    eachChain(field.value, ({ base, steps: [step] }) => {
      if (base.kind === "name" && base.text === "dynamic" && step?.kind === "field" && fields.has(step.name.text)) {
        names.add(step.name.text)
      }
    })
    return names
  }
  return strongComponents(fields.keys(), referred).flat()
}
