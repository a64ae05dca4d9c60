import type { JsonObject } from "../base/json-value.ts"
import type { WireError } from "../log/events.ts"
import { RunFailure } from "../ports/run-failure.ts"
import { resolveBackends } from "./context/backends.ts"
import { endsRun } from "./context/failure.ts"
import type { RunContext } from "./context/run-context.ts"
import { makeOutput, resolveDynamic, runAgentNode, runAskNode, runWaitNode } from "./run-node.ts"
import { runGraph } from "./context/scheduler.ts"
import { openServers } from "./tools/tool-servers.ts"

/** Does all that a plan says, and gives its result. A failure is reported to `running.fail`, and the result then is of no use. */
export async function runPlan(running: RunContext): Promise<JsonObject> {
  const { plan, prepared, signal } = running
  const result: JsonObject = {}
  const failed = fatalFailure(running)
  if (failed !== null) running.fail(new RunFailure(failed))
  if (signal.aborted) return result
  try {
    resolveBackends(running)
    const opening = openServers(running)
    if (opening !== null) await opening
  } catch (error) {
    running.fail(error)
    return result
  }
  await runGraph(
    prepared.waitsFor,
    prepared.dependents,
    (position) => {
      const node = plan.nodes[position]
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

/** An agent had failed for good, and the process died before the end of the run, or of the call, was written. */
function fatalFailure({ past, plan, scope }: RunContext): WireError | null {
  const skips = (name: string): boolean => {
    const node = plan.nodes.find((one) => one.kind === "agent" && one.name === name)
    return node?.kind === "agent" && node.on_failure === "skip"
  }
  return past.failures.find(({ agent, error }) => endsRun(error, scope) || !skips(agent))?.error ?? null
}
