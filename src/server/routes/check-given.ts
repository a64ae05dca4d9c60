import { didYouMean } from "../../base/did-you-mean.ts"
import type { AgentNode, AskNode, Plan } from "../../plan/plan-shape.ts"
import type { RunRequest } from "../../ports/store.ts"
import { validateValue } from "../../types/validate-value.ts"
import { refuse, refuseAt } from "../http-error.ts"

/** Refuses results that a re-run cannot take: of steps that are not there, of another type, or of the server's own workflow. */
export function checkGiven(plan: Plan, { workflow, rerun }: RunRequest): void {
  const given = Object.entries(rerun?.given ?? {})
  if (given.length === 0) return
  // The server's secrets and the answers of its people stand behind each of its steps.
  if (workflow !== undefined) {
    throw refuse(
      "forbidden",
      `\`given\` is not for a workflow of the server: send the source of ${workflow.name} with it`,
    )
  }
  const steps = plan.nodes.filter((node) => node.kind === "agent" || node.kind === "ask")
  for (const [key, value] of given) {
    const path = `given.${key}`
    const [, id = "", item] = /^((?:agent|ask)\.\w+)(\[(?:0|[1-9]\d{0,8})\])?$/.exec(key) ?? []
    const node = steps.find((one) => one.id === id)
    if (node === undefined) {
      const near = didYouMean(key, new Set(steps.map((step) => step.id)))
      const hint = near === undefined ? "Name an agent or a question." : `Did you mean ${near}?`
      throw refuseAt("input_error", path, `The workflow has no agent or question ${key}`, hint)
    }
    checkPlace(plan, node, key, item !== undefined, path)
    const [misfit] = validateValue(value, node.output, plan.types, path)
    if (misfit !== undefined) throw refuseAt("input_error", misfit.path, misfit.message, misfit.hint)
  }
}

function checkPlace(plan: Plan, node: AgentNode | AskNode, key: string, isItem: boolean, path: string): void {
  if (node.loop !== null && !isItem) {
    throw refuseAt("input_error", path, `${key} is a loop`, `Name an item, such as ${key}[0].`)
  }
  if (node.loop === null && isItem) throw refuseAt("input_error", path, `${node.id} is not a loop`, `Write ${node.id}.`)
  const next = plan.nodes.find((other) => other.kind === "agent" && `agent.${other.context?.agent ?? ""}` === node.id)
  if (next !== undefined) {
    const hint = `Give the output of ${next.id}, or let ${node.id} run.`
    throw refuseAt("input_error", path, `${next.id} continues the conversation of ${node.id}, which is not given`, hint)
  }
}
