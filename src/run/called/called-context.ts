import type { JsonObject } from "../../base/json-value.ts"
import { memoryOf } from "../../base/memory-of.ts"
import { noReplayState } from "../../log/replay-state.ts"
import type { Spent } from "../../log/usage.ts"
import { callingAgent } from "../../plan/call-scope.ts"
import type { CalledWorkflow } from "../../plan/plan-shape.ts"
import { Budget } from "../budget/budget.ts"
import { limitsOfRun } from "../budget/limit-scopes.ts"
import { calledSecrets } from "../context/called-secrets.ts"
import { closeHost, keepValue, openContext, type RunContext } from "../context/run-context.ts"
import type { Place } from "../shares/permits.ts"

/** About what a called workflow takes in memory while it runs, besides its values. */
const contextBytes = 16_384

/** A called workflow under way. */
export interface CalledRun {
  /** Does its work. Rejects with the first failure, when nothing inside is open any more. */
  toEnd(): Promise<JsonObject>
  /** Used by all that happened inside. */
  readonly spent: Spent
  /** What code of its output wrote. */
  logs(): { readonly logs?: string }
}

/**
 * What the parts of a called workflow share. Log, lease, questions, places among the open calls and memory are the run's; results, counts and
 * connections are its own.
 */
export function calledContext(
  around: RunContext,
  called: CalledWorkflow,
  { scope, input, path }: { readonly scope: string; readonly input: JsonObject; readonly path: string },
  startedAt: number,
  place: Place,
): CalledRun {
  const { plan } = called
  const abort = new AbortController()
  const { signal } = abort
  const past = around.past.inside.get(scope) ?? noReplayState
  const limits = limitsOfRun(plan, null, scope)
  let failed: { readonly error: unknown } | null = null
  const fail = (error: unknown): void => {
    if (failed !== null || signal.aborted) return
    failed = { error }
    abort.abort(stopping)
  }
  around.ports.planned?.(around.runId, scope, plan)
  const running = openContext(around.shared, {
    content: around.content?.within(called.name) ?? null,
    scope,
    around,
    plan,
    input,
    secrets: calledSecrets(around.secrets, called),
    ports: around.ports.within?.(called.name) ?? around.ports,
    log: around.log.within(scope),
    permits: around.permits.within(signal, place),
    signal,
    past,
    earlier: around.earlier?.within(scope, called.file) ?? null,
    run: around.run,
    budget: new Budget(limits, past.used, signal, { budget: around.budget, agent: callingAgent(scope) }),
    time: around.time.within(limits, startedAt, past.agentTimes, fail),
    fail,
  })

  const toEnd = async (): Promise<JsonObject> => {
    const onAbort = (): void => abort.abort(around.signal.reason)
    around.signal.throwIfAborted()
    around.signal.addEventListener("abort", onAbort, { once: true })
    const stopLimits = running.time.watch()
    try {
      keepValue(running, contextBytes + memoryOf(input), path)
      if (!past.planned) {
        const { budget, time, log, prepared } = running
        const shown = budget.hasOwnLimits ? { limits: budget.shown((agent) => time.elapsed(agent)) } : {}
        log.add("workflow_planned", { nodes: prepared.planned, ...shown })
      }
      const result = await around.runPlan(running)
      // Before the end of the call is logged, all that it began must be over, for whatever reason it stops.
      const open = running.permits.idle()
      if (open !== null) await open
      while (running.backgroundWork.size > 0) await Promise.all(running.backgroundWork)
      around.signal.throwIfAborted()
      if (failed !== null) throw failed.error
      return result
    } finally {
      stopLimits()
      around.signal.removeEventListener("abort", onAbort)
      running.work.forget(running.keptBytes)
      await closeHost(running)
    }
  }
  return {
    toEnd,
    logs: () => running.code?.logsOf("output") ?? {},
    get spent() {
      return running.spent
    },
  }
}

// Created once: an error captures its stack, which takes time.
const stopping = new Error("The called workflow stops")
