import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { AgentNode, AskNode, DynamicNode, OutputNode, WaitNode } from "../plan/plan-shape.ts"
import { runAgent } from "./agent/agent.ts"
import { runLoop } from "./agent/agent-loop.ts"
import { runRounds } from "./agent/agent-rounds.ts"
import { evaluateEffects, evaluateToKeep } from "./values/evaluate-effects.ts"
import { setOwn } from "../base/ordered-object.ts"
import { failure } from "../ports/run-failure.ts"
import { placeKey } from "../log/replay-state.ts"
import { loopItems } from "./context/loop-items.ts"
import { askPeople } from "./ask-step.ts"
import { waitForAll } from "./wait-step.ts"
import { outerScope, type RunContext } from "./context/run-context.ts"
import { workflowEffects } from "./tools/workflow-effects.ts"
import { sizeOf } from "./values/value-size.ts"

// What the run does at each kind of node of its plan. The scheduler calls these once the node's dependencies are done.

export async function resolveDynamic(running: RunContext, node: DynamicNode): Promise<void> {
  const { ports, log, past, dynamics } = running
  const startedAt = ports.clock.now()
  const effects = workflowEffects(running, node.id, { dynamic: node.name })
  const { value, kept } = await evaluateToKeep(node.value, outerScope(running, node.id), effects)
  running.keptBytes += kept
  dynamics.set(node.name, value)
  if (!past.dynamics.has(placeKey(node.name, null))) {
    log.add("dynamic_resolved", {
      name: node.name,
      ...running.code?.logsOf(node.id),
      duration_ms: ports.clock.now() - startedAt,
    })
  }
}

export async function runAgentNode(running: RunContext, node: AgentNode): Promise<void> {
  try {
    running.agents.set(node.name, await outputOf(running, node))
  } finally {
    running.time.agentEnded(node.name)
  }
}

function outputOf(running: RunContext, node: AgentNode): Promise<JsonValue> {
  const { loop, repeat } = node
  if (repeat !== undefined) return runRounds(running, node, repeat)
  return loop === null ? runAgent(running, node, null, noVariables) : runLoop(running, node, loop)
}

const none: ReadonlyMap<string, JsonValue> = new Map()
const noVariables = (): ReadonlyMap<string, JsonValue> => none

export async function runAskNode(running: RunContext, node: AskNode): Promise<void> {
  if (node.loop === null) {
    const [answer = null] = await askPeople(running, node, null)
    running.answers.set(node.name, answer)
    return
  }
  const effects = workflowEffects(running, node.id, { dynamic: node.id })
  const items = await loopItems(running, node, node.loop, effects)
  running.answers.set(node.name, await askPeople(running, node, items))
}

export async function runWaitNode(running: RunContext, node: WaitNode): Promise<void> {
  const { loop, id, name } = node
  const items =
    loop === null ? null : await loopItems(running, node, loop, workflowEffects(running, id, { dynamic: id }))
  const values = await waitForAll(running, node, items)
  running.waited.set(name, items === null ? (values[0] ?? null) : values)
}

/** Puts the fields of the run's output into `result`. A promise only where one of them has to be waited for. */
export function makeOutput(running: RunContext, node: OutputNode, result: JsonObject): Promise<void> | null {
  const scope = outerScope(running, "output")
  const effects = workflowEffects(running, "output", { dynamic: "output" })
  let bytes = 1
  const put = (key: string, made: JsonValue, path: string): void => {
    const { outputBytes: most } = running.limits
    bytes += 2 + sizeOf(key).bytes + running.work.sizeOf(made, most - bytes, path).bytes
    if (bytes > most) {
      const message = `The output is larger than the ${most} bytes of JSON that are allowed, which no setting raises`
      throw failure("payload_too_large", "output", message)
    }
    setOwn(result, key, made)
    running.work.written(made, 0, path)
  }
  const putFrom = (first: number): Promise<void> | null => {
    for (let at = first; at < node.fields.length; at++) {
      const { key, value } = node.fields[at] as OutputNode["fields"][number]
      const path = `output.${key}`
      const made = evaluateEffects(value, { ...scope, path }, effects)
      if (made instanceof Promise) {
        return made.then((late) => {
          put(key, late, path)
          return putFrom(at + 1) ?? undefined
        })
      }
      put(key, made, path)
    }
    return null
  }
  return putFrom(0)
}
