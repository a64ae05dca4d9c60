import type { JsonValue } from "../../base/json-value.ts"
import type { AgentNode } from "../../plan/plan-shape.ts"
import { loopItems, loopVariables } from "../context/loop-items.ts"
import type { RunContext } from "../context/run-context.ts"
import { runEach } from "../context/scheduler.ts"
import { workflowEffects } from "../tools/workflow-effects.ts"
import { runAgent } from "./agent.ts"

/** The outputs of an agent for each item of a list. */
export async function runLoop(
  running: RunContext,
  node: AgentNode,
  loop: NonNullable<AgentNode["loop"]>,
): Promise<JsonValue[]> {
  const { ports, log, past, maxConcurrency, signal } = running
  const effects = workflowEffects(running, node.id, { agent: node.name })
  const items = await loopItems(running, node, loop, effects)
  const iterations = items.length
  const startedBefore = past.loopsStarted.get(node.name)
  const startedAt = startedBefore ?? ports.clock.now()
  if (startedBefore === undefined) log.add("agent_loop_started", { agent: node.name, iterations })
  const outputs: JsonValue[] = Array.from({ length: iterations }, () => null)
  await runEach(
    iterations,
    Math.min(node.concurrency ?? maxConcurrency, maxConcurrency),
    async (index) => {
      signal.throwIfAborted()
      const variables = () => loopVariables(running, node, loop, items[index] ?? null, index)
      outputs[index] = await runAgent(running, node, index, variables)
      const room = log.room()
      if (room !== null) await room
    },
    (error) => running.fail(error),
  )
  if (!past.loopsCompleted.has(node.name)) {
    const duration_ms = ports.clock.now() - startedAt
    log.add("agent_loop_completed", { agent: node.name, iterations, duration_ms })
  }
  return outputs
}
