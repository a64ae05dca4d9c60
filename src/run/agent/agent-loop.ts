import type { JsonValue } from "../../base/json-value.ts"
import type { AgentNode } from "../../plan/plan-shape.ts"
import { nextTurn } from "../../event-loop/in-turns.ts"
import { BatchLane } from "../batches/batch-lane.ts"
import { loopItems, loopVariables } from "../context/loop-items.ts"
import type { RunContext } from "../context/run-context.ts"
import { runEach } from "../context/scheduler.ts"
import { workflowEffects } from "../tools/workflow-effects.ts"
import { runAgent } from "./agent.ts"
import { FirstWarms } from "./first-warms.ts"

/** Items of batches that begin in one turn of the event loop. */
const perTurn = 25

/** Gives each item the turn in which it begins. */
function beginning(): (index: number) => Promise<void> {
  const turns: Promise<void>[] = [Promise.resolve()]
  return (index) => {
    const turn = Math.floor(index / perTurn)
    for (let last = turns.at(-1); turns.length <= turn; last = turns.at(-1))
      turns.push((last ?? nextTurn()).then(nextTurn))
    return turns[turn] ?? nextTurn()
  }
}

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
  const { batches } = ports
  const lane =
    node.batch === undefined || batches === undefined ? null : new BatchLane(running, node, batches, iterations)
  if (lane !== null) {
    running.lanesOf.set(node.name, lane)
    running.shared.lanes.add({ running, agent: node.name, lane })
  }
  const turnOf = beginning()
  const answered = past.answered.has(node.name) || [...past.agents.values()].some(({ turns }) => turns.size > 0)
  const warms = answered || lane !== null ? null : new FirstWarms(iterations)
  await runEach(
    iterations,
    lane === null ? Math.min(node.concurrency ?? maxConcurrency, maxConcurrency) : iterations,
    async (index) => {
      if (lane !== null) await turnOf(index)
      signal.throwIfAborted()
      const variables = () => loopVariables(running, node, loop, items[index] ?? null, index)
      try {
        outputs[index] = await runAgent(running, node, index, variables, warms)
      } finally {
        lane?.ended(index)
        warms?.leave(index)
      }
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
