import type { BegunTurn } from "../../log/replay-state.ts"
import type { RunContext } from "./run-context.ts"
import type { BudgetUsedUp } from "../budget/budgets.ts"

/** A call does not fit into a budget, and its run waits for the period to end. */
export class BudgetWait extends Error {
  readonly used: BudgetUsedUp
  /** How far the turn has come; null: as far as before it was asked. */
  readonly progress: BegunTurn["progress"]
  readonly attempts: number

  constructor(used: BudgetUsedUp, attempts: number, progress: BegunTurn["progress"]) {
    super(used.message)
    this.name = "BudgetWait"
    this.used = used
    this.attempts = attempts
    this.progress = progress
  }
}

/**
 * Makes a turn, as often as it has to wait for a budget. `ask` holds its permit only while it asks: a run that has nothing else to do parks.
 */
export function askWithinBudgets<T>(
  running: RunContext,
  begun: BegunTurn | undefined,
  ask: (begun: BegunTurn | undefined) => Promise<T>,
): Promise<T> {
  return running.options.on_budget === "wait" ? askAgain(running, begun, ask) : ask(begun)
}

async function askAgain<T>(
  running: RunContext,
  begun: BegunTurn | undefined,
  ask: (begun: BegunTurn | undefined) => Promise<T>,
): Promise<T> {
  for (let before = begun; ;) {
    try {
      return await ask(before)
    } catch (error) {
      if (!(error instanceof BudgetWait)) throw error
      before = { attempts: error.attempts, progress: error.progress ?? before?.progress ?? null }
      await untilBudget(running, error.used)
    }
  }
}

/** Resolves when the period of the budget ends, or the operator has changed the budgets. */
async function untilBudget({ ports, permits, waits, signal }: RunContext, used: BudgetUsedUp): Promise<void> {
  const { path, resets_at } = used
  const stop = new AbortController()
  void ports.budgets?.fileChange.then(() => stop.abort())
  permits.giveUp()
  try {
    await waits.alarm(
      { kind: "budget", id: path, key: path, due_at: resets_at },
      AbortSignal.any([signal, stop.signal]),
    )
  } catch (error) {
    if (signal.aborted || !stop.signal.aborted) throw error
  }
}
