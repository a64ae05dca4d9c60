import { signal } from "@preact/signals"
import type { RunView } from "../shown-run/run-view.ts"
import { cancelRun } from "./follow-run.ts"

/** The run whose open questions a person is told of before it is cancelled. */
export const asksToCancel = signal<RunView | null>(null)

/** Cancels a run; one that has asked people something, only after a word with who pressed the button. */
export function requestCancel(run: RunView): void {
  const hasOpen = run.state.questions.some(({ status }) => status === "open")
  if (hasOpen && !run.cancelling && !run.isOver) asksToCancel.value = run
  else void cancelRun(run)
}
