import type { JsonValue } from "../../base/json-value.ts"
import type { WireError } from "../../log/events.ts"
import { placeKey } from "../../log/replay-state.ts"
import type { AgentNode, RoundsPlan } from "../../plan/plan-shape.ts"
import { maySkip } from "../context/failure.ts"
import { keepFailure, outerScope, type RunContext } from "../context/run-context.ts"
import { workflowEffects } from "../tools/workflow-effects.ts"
import { decide } from "../values/condition.ts"
import { textOf } from "../values/scope.ts"
import { runAgent } from "./agent.ts"

/**
 * The rounds of an agent that repeats, one after the other. Its value is the output of the last one, or null where it is skipped: because
 * of its condition, or because a round has failed and may.
 */
export async function runRounds(running: RunContext, node: AgentNode, repeat: RoundsPlan): Promise<JsonValue> {
  const { log, past, ports } = running
  const outputs: JsonValue[] = []
  running.rounds.set(node.name, outputs)
  const about = { agent: node.name }
  const key = placeKey(node.id, null)
  const wasSkipped = past.skipped.has(key)
  const skip = (error: WireError | null): null => {
    if (!wasSkipped) log.add("step_skipped", { step: node.id, ...(error === null ? {} : { error }) })
    keepFailure(running, key, error, node.id)
    return null
  }
  const startedBefore = past.loopsStarted.get(node.name)
  if (wasSkipped && startedBefore === undefined) return skip(past.skipped.get(key) ?? null)
  try {
    if (startedBefore === undefined && node.when !== null) {
      const path = `${node.id}.when`
      const isWanted = await decide(node.when, outerScope(running, path), workflowEffects(running, path, about))
      if (!isWanted) return skip(null)
    }
    const startedAt = startedBefore ?? ports.clock.now()
    // How many there will be, nobody knows yet.
    if (startedBefore === undefined) log.add("agent_loop_started", { ...about, iterations: repeat.at_most })
    const last = await roundsOf(running, node, repeat, outputs)
    if (!past.loopsCompleted.has(node.name)) {
      const iterations = last === null ? outputs.length + 1 : outputs.length
      log.add("agent_loop_completed", { ...about, iterations, duration_ms: ports.clock.now() - startedAt })
    }
    if (last !== null) return last
    // Why the last round failed.
    const failed = running.failures.get(placeKey(node.id, outputs.length))
    if (failed !== undefined) running.failures.set(key, failed)
    return skip(null)
  } catch (error) {
    if (node.on_failure !== "skip" || !maySkip(error, running)) throw error
    return skip(error.error)
  }
}

/** Adds what each round gives; null where one was skipped. */
async function roundsOf(
  running: RunContext,
  node: AgentNode,
  { until, at_most }: RoundsPlan,
  outputs: JsonValue[],
): Promise<JsonValue> {
  const { log, signal } = running
  const path = `${node.id}.repeat.until`
  const effects = workflowEffects(running, path, { agent: node.name })
  for (let previous: JsonValue = null; ;) {
    signal.throwIfAborted()
    const variables = new Map([["previous", previous]])
    const iteration = outputs.length
    const result = await runAgent(running, node, iteration, () => variables)
    if (result === null) return null
    outputs.push(result)
    const room = log.room()
    if (room !== null) await room
    const judged = { result, captured: [], round: outputs.length }
    const scope = { ...outerScope(running, path), variables, iteration, judged }
    if (outputs.length >= at_most || (await decide({ condition: until, text: textOf(until) }, scope, effects))) {
      return result
    }
    previous = result
  }
}
