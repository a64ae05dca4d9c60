import { modelToolCallsOfTurn } from "../../base/limits.ts"
import type { Rates } from "../budget/rates.ts"
import type { PromptCacheWord } from "../../plan/plan-shape.ts"
import type { CallToReserve, ModelWatch, PacedCall, PacingRequest, Reservation } from "../../ports/model.ts"
import { batchPrice, type Price } from "../../plan/price-of-model.ts"
import { RunEnding, wireError } from "../../ports/run-failure.ts"
import { spentOf } from "../../log/consumption.ts"
import { callKey } from "../../log/ledger-fold.ts"
import { readProgress, storeProgress, type TurnProgress } from "../../log/turn-progress.ts"
import { BudgetWait } from "../context/within-budgets.ts"
import { BudgetUsedUp, type BudgetClaim, type Budgets } from "../budget/budgets.ts"
import { listedPrice, loginOf } from "../context/backends.ts"
import { defaultOutput } from "../budget/budget.ts"
import { showMoney, unrounded, worstCost, type Money } from "../../log/money.ts"
import { shownMessages } from "../log/shown-messages.ts"
import { inScope, type LaneClaims, type RunContext } from "../context/run-context.ts"
import type { Caller } from "./agent-tools.ts"
import { keepMedia } from "./keep-media.ts"
import type { StepProgress } from "./step-context.ts"

/** What the run does while a step's model is asked: it reserves calls, stores retries and passes deltas on. */
export function modelWatch(running: RunContext, caller: Caller, progress: StepProgress): ModelWatch {
  const { about } = caller
  const { budget, log, ports, redactor, signal, gate } = running
  const { rates } = ports
  const budgets = ports.budgets?.limitsCalls(running.caller, running.workflow) === true ? ports.budgets : null
  let begun: { readonly model: string | null; readonly progress: TurnProgress | null } = { model: null, progress: null }
  return {
    signal,
    gate,
    arrivals: running.arrivals,
    now: () => ports.clock.now(),
    ...(rates !== undefined && { pace: (request) => pace(running, rates, about, request) }),
    ...(budget.limited || budgets !== null
      ? {
          reserve: (call) => {
            // Another model of the list begins its part of the turn anew.
            if (begun.model !== call.model) begun = { model: call.model, progress: null }
            return reserve(running, about, call, budgets, begun.progress)
          },
        }
      : {}),
    retried: ({ attempt, reason, delay_ms, progress: turnProgress, requirements }) => {
      begun = { ...begun, progress: readProgress(begun.progress, storeProgress(turnProgress)) }
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
    ...(ports.responded !== undefined && {
      responded: (turn, attempt, response) =>
        ports.responded?.(running.runId, { ...inScope(running), ...about, turn, attempt }, response),
    }),
    delta: (attempt, text) => log.addDelta({ ...about, attempt, text }),
    hosted: (uses) => {
      for (const use of uses.slice(0, modelToolCallsOfTurn)) {
        log.add("hosted_tool_used", { ...about, turn: progress.turn, ...use })
      }
      if (budget.limited) budget.countTools(about.agent, uses.length)
    },
    keep: (media, at) => keepMedia(running, caller, media, at),
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

/** Waits until limits and budgets have room for the call, and stores what it may use at most. */
async function reserve(
  running: RunContext,
  about: Caller["about"],
  call: CallToReserve,
  budgets: Budgets | null,
  progress: TurnProgress | null,
): Promise<Reservation> {
  const { budget, log, ledger } = running
  const { turn, attempt, model, id, price: ownPrice, input_tokens, max_tokens, cache, hosted, least } = call
  const most = max_tokens ?? defaultOutput
  const need = { kind: "model", input: input_tokens, output: most, least, price: ownPrice, hosted } as const
  const grant = budget.limited ? await budget.reserve(about.agent, need) : null
  const price = listedPrice(running, model, id, cache) ?? ownPrice
  let claim: BudgetClaim | null = null
  try {
    if (budgets !== null) claim = await claimFrom(budgets, running, { ...call, price }, grant?.output ?? need.output)
  } catch (error) {
    grant?.settle(null, false)
    const waits = running.options.on_budget === "wait" && error instanceof BudgetUsedUp
    throw waits ? new BudgetWait(error, attempt - 1, progress) : error
  }
  const output = claim?.output ?? grant?.output ?? need.output
  const tokens = input_tokens + output
  const worst = (at: Price | null): Money | null => (at === null ? null : worstCost(input_tokens, output, at, hosted))
  const [shownCost, cost] = [worst(ownPrice), worst(price)]
  const reserved = { tokens, cost: shownCost === null ? null : showMoney(shownCost) }
  const exactly = cost === null ? null : (unrounded(cost) ?? showMoney(cost))
  log.add("model_call_started", { ...about, turn, attempt, model, reserved }, { id, cost: exactly, price })
  if (claim !== null) ledger.hold(callKey({ ...about, ...inScope(running) }, turn, attempt), claim)
  try {
    await log.stored()
  } catch (error) {
    grant?.settle(null, false)
    throw error
  }
  return {
    max_tokens: budget.boundsOutput || claim !== null ? output : null,
    settle: (usage, answered) => {
      grant?.settle(usage, answered)
      claim?.settle(spentOf(usage, answered, { tokens, cost }, price))
    },
  }
}

/** How calls of batches reserve from the budgets of the caller; null where there are none. */
export function batchClaims(
  running: RunContext,
  model: string,
  id: string,
  cache: PromptCacheWord | null,
): LaneClaims | null {
  const { budgets } = running.ports
  if (budgets?.limitsCalls(running.caller, running.workflow) !== true) return null
  return async ({ attempt, input, output, price: ownPrice, least }) => {
    const stated = listedPrice(running, model, id, cache)
    const price = stated === null ? ownPrice : batchPrice(stated)
    const call = { turn: 1, attempt, model, id, price, cache, input_tokens: input, max_tokens: output, least }
    try {
      return await claimFrom(budgets, running, call, output)
    } catch (error) {
      const waits = running.options.on_budget === "wait" && error instanceof BudgetUsedUp
      throw waits ? new BudgetWait(error, attempt - 1, null) : error
    }
  }
}

function claimFrom(
  budgets: Budgets,
  running: RunContext,
  { model, id, input_tokens, price, cache, hosted = {}, least }: CallToReserve,
  output: number,
): Promise<BudgetClaim> {
  const { caller, workflow, signal } = running
  const costs = budgets.limitsCost(caller, workflow)
  // Callers would write their own prices otherwise.
  const counted = workflow === null ? listedPrice(running, model, id, cache) : price
  const unpriced = counted === null ? "" : Object.keys(hosted).find((type) => !Object.hasOwn(counted.hosted, type))
  if (costs !== null && unpriced !== undefined) {
    const what = unpriced === "" ? "price" : `price for the hosted tool ${unpriced}`
    const message = `model.${model} has no ${what} that the budget ${costs.path} could go by`
    throw new RunEnding(wireError("input_error", [{ path: `model.${model}`, code: "unpriced-model", message }]))
  }
  return budgets.reserve({ caller, workflow, input: input_tokens, output, least, price, hosted, signal })
}
