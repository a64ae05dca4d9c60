import { remembered } from "../base/remembered.ts"
import { children, traits } from "./expression-traits.ts"
import type { Expression } from "./expression.ts"
import type { Plan } from "./plan-shape.ts"
import { expressionsOf } from "./prepare.ts"

// Plans are kept by their source and run again and again.
const seen = new WeakMap<Plan, { readonly waits: boolean }>()

/** Whether a run of the plan may have to wait: it, or a workflow that it calls, asks something or waits, calls need an approval, or servers may ask. */
export function mayWait(plan: Plan): boolean {
  return remembered(seen, plan, () => ({ waits: looks(plan) })).waits
}

/** Whether an agent of the plan, or of a workflow that it calls, makes its calls in batches. */
export function hasBatches({ nodes, workflows = {} }: Plan): boolean {
  return (
    nodes.some((node) => node.kind === "agent" && node.batch !== undefined) ||
    Object.values(workflows).some(({ plan }) => hasBatches(plan))
  )
}

function looks({ nodes, tools, servers, workflows = {} }: Plan): boolean {
  const ofServers = Object.values(tools).some(({ server, http }) => {
    return http === undefined && servers[server]?.elicitation !== undefined
  })
  if (ofServers || Object.values(workflows).some((called) => mayWait(called.plan))) return true
  return nodes.some((node) => {
    if (node.kind === "ask" || node.kind === "wait") return true
    const uses = node.kind === "agent" ? [...node.uses, ...(node.workflows ?? [])] : []
    return uses.some(({ approval }) => approval !== null) || expressionsOf(node).some(hasApproval)
  })
}

function hasApproval(expression: Expression): boolean {
  if (traits(expression).pure) return false
  if ((expression.op === "call" || expression.op === "call-workflow") && expression.approval !== null) return true
  return children(expression).some(hasApproval)
}
