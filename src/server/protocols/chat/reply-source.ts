import type { Plan } from "../../../plan/plan-shape.ts"
import { fieldPath } from "../../../log/partials/partial-json.ts"

/** The agent's field that is the reply, word for word. */
export interface ReplySource {
  readonly agent: string
  /** The path in `agent_partial`. */
  readonly path: string
}

/**
 * Where the reply can be read while it is written; null where it comes whole: it is computed, or the agent may be skipped, repeated or
 * refused after it has written.
 */
export function replySource({ chat, nodes }: Plan): ReplySource | null {
  const output = nodes.find((node) => node.kind === "output")
  const value = output?.kind === "output" ? output.fields.find(({ key }) => key === chat?.reply)?.value : undefined
  if (value?.op !== "chain" || value.base.op !== "reference" || value.base.root.kind !== "agent") return null
  const { name } = value.base.root
  let path = ""
  for (const step of value.steps) {
    if (step.step !== "field" || step.optional) return null
    path = fieldPath(path, step.name)
  }
  const agent = nodes.find((node) => node.kind === "agent" && node.name === name)
  if (agent?.kind !== "agent" || agent.loop !== null || agent.repeat !== undefined || agent.when !== null) return null
  // A text that was shown might be refused.
  if (agent.requires.length > 0) return null
  return { agent: name, path }
}
