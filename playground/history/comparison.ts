import { signal } from "@preact/signals"
import type { RunView } from "../shown-run/run-view.ts"
import { notify } from "../page/notices.ts"
import type { KeptRun } from "./kept-runs.ts"
import { openKept } from "./kept-runs.ts"

/** The older one is on the left. */
export interface ComparedRuns {
  readonly left: RunView
  readonly right: RunView
}

export const comparison = signal<ComparedRuns | null>(null)

export async function compareRuns(kept: readonly KeptRun[]): Promise<void> {
  const [first, second] = kept.toSorted((a, b) => a.asked_at - b.asked_at)
  if (first === undefined || second === undefined) return
  const [left, right] = await Promise.all([openKept(first), openKept(second)])
  if (left === undefined || right === undefined) notify("The events of one of them are not kept any more.", "wrong")
  else comparison.value = { left, right }
}
