import type { Plan } from "./plan-shape.ts"
import { prepare } from "./prepare.ts"

/** Whether a run of the plan may have to wait for people: it asks something, or calls that need an approval are in it. */
export function mayWait(plan: Plan): boolean {
  let waits = known.get(plan)
  if (waits === undefined) {
    waits = asks(plan)
    known.set(plan, waits)
  }
  return waits
}

/** Plans are run again and again. */
const known = new WeakMap<Plan, boolean>()

function asks(plan: Plan): boolean {
  const inNodes = plan.nodes.some((node) => {
    return node.kind === "ask" || (node.kind === "agent" && node.uses.some(({ approval }) => approval !== null))
  })
  return inNodes || prepare(plan).effects.some((effect) => effect.op === "call" && effect.approval !== null)
}
