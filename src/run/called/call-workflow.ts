import { runCalledLevels } from "../../base/limits.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { memoryOf } from "../../base/memory-of.ts"
import type { ModelCallReplayData } from "../../log/replay-data.ts"
import { placeKey, type CallReplayState } from "../../log/replay-state.ts"
import { nothingSpent, showSpent } from "../../log/usage.ts"
import { mayWait } from "../../plan/may-wait.ts"
import { levelsOf } from "../../plan/call-scope.ts"
import type { CalledWorkflow } from "../../plan/plan-shape.ts"
import { RunEnding, RunFailure, failure, wireError } from "../../ports/run-failure.ts"
import { inputOf, unfulfilled } from "../values/input-of.ts"
import { validateValue } from "../../types/validate-value.ts"
import { failureOfCall } from "../context/failure.ts"
import { shown } from "../log/log.ts"
import { workflowDigest } from "../questions/approval-digest.ts"
import { CallApproval, type Approval } from "../asking/approval.ts"
import type { RunContext } from "../context/run-context.ts"
import type { Place } from "../shares/permits.ts"
import { calledContext } from "./called-context.ts"

/** One call of a workflow, a model's or the workflow's own. */
export interface WorkflowCall {
  /** Its declared name. */
  readonly workflow: string
  /** What names the call within the run. */
  readonly scope: string
  /** The place that errors name: `agent.review`, `dynamic.first`. */
  readonly path: string
  readonly about: {
    readonly agent?: string
    readonly dynamic?: string
    readonly iteration?: number
    readonly items?: readonly number[]
  }
  /** Only for a call in an expression. */
  readonly site?: string
  readonly input: JsonObject
  /** How the author wrote the call, for errors. */
  readonly text: string
  /** Place in the model's turn, for a call that a model makes. */
  readonly kept?: () => ModelCallReplayData
  /** The call as the log of an interrupted run has it. */
  readonly past: CallReplayState | null
  /** The call waits for a person; null: no approval is needed. */
  readonly approval: Approval | null
  /** A place among the open calls that the caller holds for the first call that claims it. */
  readonly place?: Place | undefined
}

/**
 * Calls a workflow inside the run, or goes on with a call that was interrupted, unless the log knows its outcome. Rejects with the failure of
 * the call.
 */
export async function callWorkflow(running: RunContext, written: WorkflowCall): Promise<JsonValue> {
  const { past, path, scope, about, workflow } = written
  const called = workflowOf(running, workflow)
  const call = { ...written, input: inputOf(called.plan, written.input) }
  // What a person decided is not decided again for another run by the cache.
  if (about.agent !== undefined && (call.approval !== null || mayWait(called.plan))) {
    running.approvedAgents.add(placeKey(about.agent, about.iteration))
  }
  if (past !== null && past.outcome !== null) {
    if (past.outcome.kind === "failed") throw new RunFailure(past.outcome.error)
    return past.outcome.result
  }
  if (levelsOf(scope) > runCalledLevels) {
    const message = `At most ${runCalledLevels} workflows may be called within each other`
    throw failure("limit_exceeded", path, message)
  }
  // A resumed run has counted what its log holds.
  if (past === null) countCalled(running, path)
  const misfits = validateValue(call.input, called.plan.input, called.plan.types, "input")
  const problems = (misfits.length > 0 ? misfits : unfulfilled(called.plan, call.input))
    .slice(0, 10)
    .map(({ message }) => message)
  if (problems.length > 0) {
    throw failure("evaluation_error", path, `Cannot evaluate ${call.text}: ${problems.join("; ")}`)
  }

  const { ports } = running
  const log = running.log.within(scope)
  const callId = past?.callId ?? ports.random.id()
  const site = call.site === undefined ? {} : { site: call.site }
  const of = { workflow, call_id: callId, ...site, ...about }
  let startedAt = past?.startedAt ?? ports.clock.now()
  const begin = (): void => {
    if (past !== null && past.startedAt !== null) return
    startedAt = ports.clock.now()
    const kept = call.kept?.()
    const calls = kept?.answer === undefined ? {} : { calls: kept.answer.calls }
    const input = running.redactor.redact(shown(call.input))
    log.add(
      "workflow_call_started",
      { ...of, input, ...calls },
      { file: called.file, ...(kept === undefined ? {} : { call: kept }) },
    )
  }
  const fail = (found: RunFailure): RunFailure => {
    log.add("workflow_call_failed", { ...of, error: found.error, duration_ms: ports.clock.now() - startedAt })
    return found
  }

  const { iteration = null, items = [] } = about
  const byModel = call.site === undefined
  const given = ports.given?.(`workflow.${workflow}`, null, { call_id: callId, iteration, items, byModel })
  // A test that gives the result gives the approval with it.
  const approval = given === undefined && (past === null || past.startedAt === null) ? call.approval : null
  const refusal = approval === null ? null : await refusalOf(running, call, approval, called, callId)
  // A call that waits for its place has not begun.
  const taken = given === undefined && refusal === null ? running.permits.enter(call.place) : null
  const place = taken instanceof Promise ? await taken : taken
  begin()
  if (refusal !== null) {
    throw fail(new RunFailure(wireError("tool_error", [{ path, message: `${workflow}: ${refusal}` }])))
  }
  if (given !== undefined && "error" in given)
    throw fail(failureOfCall(scope, running.scope, new RunFailure(given.error)))
  let result: JsonObject
  const inside = place === null ? null : calledContext(running, called, call, startedAt, place)
  try {
    result = inside === null ? (given?.output ?? {}) : await inside.toEnd()
  } catch (error) {
    if (running.signal.aborted || !(error instanceof RunFailure)) throw error
    throw fail(failureOfCall(scope, running.scope, error))
  } finally {
    place?.release()
  }
  const asShown = shown(result)
  log.add(
    "workflow_call_completed",
    {
      ...of,
      output: asShown,
      ...inside?.logs(),
      duration_ms: ports.clock.now() - startedAt,
      usage: showSpent(inside?.spent ?? nothingSpent),
    },
    asShown === result ? undefined : { output: result },
  )
  running.work.received(memoryOf(result))
  return result
}

/** Ends a run that calls too many workflows: a few files that call each other can ask for millions. */
function countCalled({ called, limits }: RunContext, path: string): void {
  if (++called.count <= limits.maxCalled) return
  const message = `The run calls more than ${limits.maxCalled} workflows, nested ones included (WIRE_MAX_CALLED)`
  throw new RunEnding(wireError("limit_exceeded", [{ path, message }]))
}

export function workflowOf({ plan }: RunContext, name: string): CalledWorkflow {
  const called = plan.workflows?.[name]
  if (called === undefined) throw new Error(`Workflow ${name} is not in the plan`)
  return called
}

/** Why a person refused the call; null when it may be made. */
async function refusalOf(
  running: RunContext,
  { about, past, path, scope, workflow, input, kept }: WorkflowCall,
  approval: Approval,
  { file, version }: CalledWorkflow,
  callId: string,
): Promise<string | null> {
  const sent = running.redactor.redact(input)
  const asking = new CallApproval(running, {
    callId,
    about,
    arguments: sent,
    approval,
    kept: () => ({
      call: kept?.() ?? { site: scope },
      scope,
      ...(about.agent === undefined ? {} : { agent: about.agent }),
    }),
    asked: past?.questions ?? [],
    path,
    subject: { name: workflow, question: `Call the workflow ${workflow} (${file})?`, workflow, file },
    digest: (words) => workflowDigest({ run_id: running.runId, call_id: callId, file, version, input: sent, words }),
    look: () => Promise.resolve(null),
  })
  const { tooLarge } = asking
  if (tooLarge !== null) return `The input takes ${tooLarge} bytes: nobody is asked to approve so much`
  for (;;) {
    const refusal = await asking.refusal()
    if (refusal !== null) return refusal
    const now = await asking.check()
    if (now === "approved") return null
    if (now !== "asked again") return now.refusal
  }
}
