import type { RunRow, RunStatus, RunStore } from "../ports/store.ts"
import { reduce } from "./reduce.ts"
import { initialState, type RunState } from "./run-state.ts"

export interface RunRecord {
  readonly row: RunRow
  readonly status: RunStatus
  readonly state: RunState
  /** The earlier run that it takes results over from. */
  readonly rerun_of: string | null
}

/** Everything that is known of a run; null when it does not exist (any more). */
export async function readRecord(store: RunStore, run_id: string): Promise<RunRecord | null> {
  const found = await store.lookup(run_id)
  if (found.found !== "run") return null
  const { run: row } = found
  const state = initialState()
  for (;;) {
    const page = await store.read(run_id, state.last_event_id, 500)
    for (const event of page) reduce(state, event)
    if (page.length === 0 || state.finished_at !== null) break
  }
  // A queued run has no events yet.
  const { rerun } = row.last_event_id === 0 ? await store.request(run_id) : {}
  const rerun_of = state.rerun_of ?? rerun?.run_id ?? null
  const ended = state.status === "completed" || state.status === "failed" || state.status === "cancelled"
  if (ended) return { row, state, rerun_of, status: state.status }
  if (row.cancel_requested) return { row, state, rerun_of, status: "cancelling" }
  // Once an outcome is stored the run counts as running, even before a process has claimed it.
  const status = row.waiting ? "waiting" : state.status === "waiting" ? "running" : state.status
  return { row, state, rerun_of, status }
}

/** A run's status without its whole log; null when there is no such run (any more). */
export async function readStatus(store: RunStore, run_id: string): Promise<RunStatus | null> {
  const found = await store.lookup(run_id)
  if (found.found !== "run") return null
  const { finished_at, last_event_id, cancel_requested, waiting } = found.run
  if (finished_at === null) {
    if (cancel_requested) return "cancelling"
    if (waiting) return "waiting"
    return last_event_id === 0 ? "queued" : "running"
  }
  const [end] = await store.read(run_id, last_event_id - 1, 1)
  return end === undefined ? null : reduce(initialState(), end).status
}
