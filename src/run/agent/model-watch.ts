import type { Rates } from "../budget/rates.ts"
import type { CallToReserve, ModelWatch, PacedCall, PacingRequest, Reservation } from "../../ports/model.ts"
import { loginOf } from "../context/backends.ts"
import { defaultOutput } from "../budget/budget.ts"
import { showMoney } from "../../log/money.ts"
import { shownMessages } from "../log/shown-messages.ts"
import { storeProgress } from "../../log/turn-progress.ts"
import type { RunContext } from "../context/run-context.ts"
import type { Caller } from "./agent-tools.ts"
import type { StepProgress } from "./step-context.ts"

/** What the run does while a step's model is asked: it reserves calls, stores retries and passes deltas on. */
export function modelWatch(running: RunContext, { about }: Caller, progress: StepProgress): ModelWatch {
  const { budget, log, ports, redactor, signal, gate } = running
  const { rates } = ports
  return {
    signal,
    gate,
    arrivals: running.arrivals,
    now: () => ports.clock.now(),
    ...(rates !== undefined && { pace: (request) => pace(running, rates, about, request) }),
    ...(budget.limited ? { reserve: (call) => reserve(running, about, call) } : {}),
    retried: ({ attempt, reason, delay_ms, progress: turnProgress, requirements }) => {
      const kept = { turn: progress.turn, progress: storeProgress(turnProgress) }
      const { added } = turnProgress
      const shownAdded = added === undefined ? {} : { added: shownMessages(added) }
      const sentBack = requirements === undefined ? {} : { requirements }
      log.add("agent_retried", { ...about, attempt, reason, delay_ms, ...shownAdded, ...sentBack }, kept)
      return log.stored()
    },
    login: (model) => loginOf(running, model),
    ...(running.requests === null ? {} : { sent: (call_id, request) => void progress.sent.push({ call_id, request }) }),
    ended: (call) => progress.ended.push(call),
    delta: (attempt, text) => log.addDelta({ ...about, attempt, text }),
    redact: (value) => redactor.redact(value),
    redactStream: () => redactor.stream(),
  }
}

/** Waits for the turn of the call among all runs of this process. */
function pace(
  running: RunContext,
  rates: Rates,
  about: Caller["about"],
  { model, backend, tokens }: PacingRequest,
): PacedCall | Promise<PacedCall> {
  const { caller, runId, workflow, log, signal, plan } = running
  const name = plan.models[model]?.provider ?? ""
  const { kind = "", rate = null } = plan.providers[name] ?? {}
  return rates.enter({
    caller,
    run_id: runId,
    workflow,
    provider: { name, kind, rate },
    backend,
    tokens,
    waits: (because) => void log.add("model_call_waiting", { ...about, because }),
    signal,
  })
}

/** Waits until the limits have room for the call, and stores what it may use at most. */
async function reserve({ budget, log }: RunContext, about: Caller["about"], call: CallToReserve): Promise<Reservation> {
  const { turn, attempt, model, price, input_tokens, max_tokens } = call
  const need = { kind: "model", input: input_tokens, output: max_tokens ?? defaultOutput, price } as const
  const grant = await budget.reserve(about.agent, need)
  const cost = grant.cost === null ? null : showMoney(grant.cost)
  log.add("model_call_started", { ...about, turn, attempt, model, reserved: { tokens: grant.tokens, cost } })
  try {
    await log.stored()
  } catch (error) {
    grant.settle(null, false)
    throw error
  }
  return {
    max_tokens: budget.boundsOutput ? grant.output : null,
    settle: (usage, answered) => grant.settle(usage, answered),
  }
}
