import { isoTime } from "../../base/iso-time.ts"
import type { ModelCallRecord } from "../events.ts"
import type { RunState, ShownHandlers } from "../run-state.ts"

/** Batches of model calls, in the order in which they were submitted. */
export const batchHandlers: ShownHandlers = {
  batch_submitted(state, { data: { agent, batch, items } }, at) {
    const about = { agent, id: batch, status: "in_progress", submitted_at: isoTime(at) }
    state.batches = [...(state.batches ?? []), { ...about, completed: 0, failed: 0, total: items }]
  },
}

/** An item has its answer: the batch is over, and its results are taken in. */
export function countBatched(state: RunState, calls: readonly ModelCallRecord[], as: "completed" | "failed"): void {
  const batch = state.batches && state.batches.find(({ id }) => id === calls.at(-1)?.batch)
  if (batch === undefined) return
  if (batch.status !== "ended") Object.assign(batch, { status: "ended", completed: 0, failed: 0 })
  batch[as]++
}
