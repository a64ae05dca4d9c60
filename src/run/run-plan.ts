import type { JsonObject } from "../base/json-value.ts"
import type { WireError } from "../log/events.ts"
import { RunFailure } from "../ports/run-failure.ts"
import { resolveBackends } from "./context/backends.ts"
import { endsRun } from "./context/failure.ts"
import type { Plan, PlanNode } from "../plan/plan-shape.ts"
import type { RunContext } from "./context/run-context.ts"
import { makeOutput, resolveDynamic, runAgentNode, runAskNode, runWaitNode } from "./run-node.ts"
import { runGraph } from "./context/scheduler.ts"
import { openServers } from "./tools/tool-servers.ts"

/** What a node does in place of its work; undefined where it does that. */
export type Detour = (node: PlanNode) => Promise<void> | undefined

/**
 * Does all that a plan says, and gives its result. A failure is reported to `running.fail`, and the result then is of no use. With a detour no server is
 * connected to.
 */
export async function runPlan(running: RunContext, detour?: Detour): Promise<JsonObject> {
  const { past, plan, prepared, signal } = running
  const result: JsonObject = {}
  const failed = fatalFailure(running)
  if (failed !== null) running.fail(new RunFailure(failed))
  if (signal.aborted) return result
  try {
    resolveBackends(running)
    const opening = detour === undefined ? openServers(running) : null
    if (opening !== null) await opening
  } catch (error) {
    running.fail(error)
    return result
  }
  const over = past.outdated.size === 0 ? past.outdated : notNeeded(plan, past.outdated)
  await runGraph(
    prepared.waitsFor,
    prepared.dependents,
    (position) => {
      const node = plan.nodes[position]
      if (node !== undefined && over.has(node.id)) return null
      const instead = node === undefined ? undefined : detour?.(node)
      if (instead !== undefined) return instead
      switch (node?.kind) {
        case "dynamic":
          return resolveDynamic(running, node)
        case "agent":
          return runAgentNode(running, node)
        case "ask":
          return runAskNode(running, node)
        case "wait":
          return runWaitNode(running, node)
        case "output":
          return makeOutput(running, node, result)
        case undefined:
          return Promise.reject(new Error(`The plan has no node ${position}`))
      }
    },
    () => signal.aborted,
    (error) => running.fail(error),
  )
  return result
}

/** Steps that completed before the run moved to this version, and those after them, which have completed as well: nothing that is still to come needs them. */
function notNeeded({ nodes }: Plan, outdated: ReadonlySet<string>): ReadonlySet<string> {
  const over = new Set(outdated)
  for (const { id, depends_on } of nodes) if (depends_on.some((one) => over.has(one))) over.add(id)
  return over
}

/** An agent had failed for good, and the process died before the end of the run, or of the call, was written. */
function fatalFailure({ past, plan, scope }: RunContext): WireError | null {
  const skips = (name: string): boolean => {
    const node = plan.nodes.find((one) => one.kind === "agent" && one.name === name)
    return node?.kind === "agent" && node.on_failure === "skip"
  }
  const counts = past.failures.filter(({ agent }) => !past.outdated.has(`agent.${agent}`))
  return counts.find(({ agent, error }) => endsRun(error, scope) || !skips(agent))?.error ?? null
}
