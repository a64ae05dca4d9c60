import type { Plan } from "../plan/plan-shape.ts"
import { LeaseLost, type RunRequest } from "../ports/store.ts"
import { Budget } from "./budget/budget.ts"
import { limitsOfRun } from "./budget/limit-scopes.ts"
import type { LogEvent, ShownRunLimits, WireError } from "../log/events.ts"
import { thisWriter } from "../log/log-version.ts"
import { RunLog } from "./log/log.ts"
import { RunLedger } from "./log/run-ledger.ts"
import { idleUntil, interruptedSteps, isWaiting, timeHad, type ReplayState } from "../log/replay-state.ts"
import { readReplayState } from "./log/read-past.ts"
import { continueFromWait } from "./waiting/take-outcomes.ts"
import { runClock } from "./run-clock.ts"
import type { HeldRun } from "./run-job.ts"
import type { RunPorts } from "./context/run-context.ts"
import { redactor } from "./secrets/redact.ts"
import { addSpent, pricesOf, showSpent, spentBy } from "../log/usage.ts"

/** Why a run ends before its work is done. */
export type RunStop = { readonly why: "failed"; readonly error: WireError } | { readonly why: "cancelled" }

/** A run that ends. Its plan is null where this release refuses its source. */
export type RunToEnd = Pick<HeldRun, "held" | "request" | "created_at"> & { readonly plan: Plan | null }

/** Ends a run that no process works on, without doing any of its work. */
export async function endWithoutRunning(
  { plan, held: { lease }, created_at, request }: RunToEnd,
  how: RunStop,
  ports: RunPorts,
): Promise<LogEvent | null> {
  const past = await readReplayState(ports.store, lease.run_id, pricesOf(plan))
  if (past.ended) return null
  const clock = runClock(ports.clock, past.lastAt ?? created_at)
  const log = new RunLog(ports.store, lease, clock, past.lastId, () => undefined, {
    before: 0,
    most: Number.POSITIVE_INFINITY,
    ledger: new RunLedger(past.ledger),
  })
  const { trigger, workflow: { release } = {} } = request
  if (past.startedAt === null)
    log.add("workflow_started", { ...(trigger && { trigger }), ...(release && { release }) }, thisWriter)
  if (isWaiting(past)) await continueFromWait(log, ports.store, lease.run_id, past, redactor({}), clock.now())
  const duration_ms = past.startedAt === null ? 0 : clock.now() - past.startedAt
  const interrupted = interruptedSteps(past)
  const prices = pricesOf(plan)
  const all = interrupted.reduce((sum, { calls, scope }) => addSpent(sum, spentBy(calls, prices, scope)), past.spent)
  const spent = {
    usage: showSpent(all),
    ...limitsAtEnd(plan, request, past),
    ...(interrupted.length > 0 && { interrupted }),
  }
  return storeEnd(
    log,
    how.why === "cancelled"
      ? log.add("workflow_cancelled", { ...spent, duration_ms })
      : log.add("workflow_failed", { error: how.error, ...spent, duration_ms }),
  )
}

function limitsAtEnd(
  plan: Plan | null,
  { options }: RunRequest,
  past: ReplayState,
): { readonly limits?: ShownRunLimits } {
  if (plan === null) return {}
  const budget = new Budget(limitsOfRun(plan, options.limits ?? null), past.used, new AbortController().signal)
  const seconds = (agent: string | null): number => {
    const time = agent === null ? { startedAt: past.startedAt, endedAt: null } : past.agentTimes.get(agent)
    const from = time?.startedAt ?? null
    const to = time?.endedAt ?? past.lastAt ?? from
    return from === null || to === null ? 0 : timeHad(idleUntil(past, to), from, to) / 1000
  }
  return budget.limited ? { limits: budget.shown(seconds) } : {}
}

/** The end of a run once it is stored; null when another process has taken the run over. */
export function storeEnd(log: RunLog, end: LogEvent): Promise<LogEvent | null> {
  return log.stored().then(
    () => end,
    (error: unknown) => {
      if (error instanceof LeaseLost) return null
      throw error
    },
  )
}
