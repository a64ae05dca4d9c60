import { isTerminal, type LogEvent, type WaitingFor } from "../log/events.ts"
import type { RunRow, RunStatus, RunStore } from "../ports/store.ts"
import { reduce } from "../log/reduce.ts"
import { batchesIn, initialState, type RunState, type ShownBatch } from "../log/run-state.ts"

export interface RunRecord {
  readonly row: RunRow
  readonly status: RunStatus
  readonly state: RecordedState
  /** Null unless it waits. */
  readonly waiting_for: WaitingFor | null
  /** With what their vendors said last. Empty for a run that has ended. */
  readonly batches: readonly ShownBatch[]
  /** The earlier run that it takes results over from. */
  readonly rerun_of: string | null
}

/** What the record of a run shows of its state. Only a run that has not ended has all of its nodes. */
export type RecordedState = Pick<
  RunState,
  "finished_at" | "output" | "error" | "usage" | "limits" | "last_event_id" | "nodes"
>

/** Everything that is known of a run; null when it does not exist (any more). */
export async function readRecord(store: RunStore, run_id: string): Promise<RunRecord | null> {
  const found = await store.lookup(run_id)
  if (found.found !== "run") return null
  const { run: row } = found
  const state = (row.finished_at === null ? null : await readEnd(store, row)) ?? (await readWhole(store, run_id))
  // A queued run has no events yet.
  const { rerun } = row.last_event_id === 0 ? await store.request(run_id) : {}
  const rerun_of = state.rerun_of ?? rerun?.run_id ?? null
  const ended = state.status === "completed" || state.status === "failed" || state.status === "cancelled"
  const waiting_for = null
  if (ended) return { row, state, rerun_of, waiting_for, batches: [], status: state.status }
  const batches = await withProgress(store, run_id, batchesIn(state))
  if (row.cancel_requested) return { row, state, rerun_of, waiting_for, batches, status: "cancelling" }
  // Once an outcome is stored the run counts as running, even before a process has claimed it.
  if (row.waiting) return { row, state, rerun_of, waiting_for: state.waiting_for ?? null, batches, status: "waiting" }
  return { row, state, rerun_of, waiting_for, batches, status: state.status === "waiting" ? "running" : state.status }
}

/** The batches with what the vendor said when it was last asked, which is kept beside the log. */
async function withProgress(store: RunStore, run_id: string, batches: readonly ShownBatch[]): Promise<ShownBatch[]> {
  if (batches.length === 0) return []
  const { found } = await store.waits.ofRun(run_id, "batch", 1_000, null)
  const known = new Map(found.map(({ wait }) => [wait.id, wait.about.progress]))
  return batches.map((batch) => ({ ...batch, ...known.get(batch.id) }))
}

/** The state of a run that has ended, from its first events and its last one; null where those do not say all of it. */
async function readEnd(store: RunStore, { run_id, last_event_id }: RunRow): Promise<RunState | null> {
  const [end] = await store.read(run_id, last_event_id - 1, 1)
  if (end === undefined || !isTerminal(end.type) || !("usage" in end.data)) return null
  const state = initialState()
  const first = await store.read(run_id, 0, 2)
  for (const event of first) reduce(state, withoutContents(event))
  const limits = "limits" in end.data ? (end.data.limits ?? null) : null
  if (state.limits !== null && limits === null) return null
  reduce(state, end)
  state.limits = limits
  return state
}

async function readWhole(store: RunStore, run_id: string): Promise<RunState> {
  const state = initialState()
  for (;;) {
    const page = await store.read(run_id, state.last_event_id, 500)
    for (const event of page) reduce(state, withoutContents(event))
    if (page.length === 0 || state.finished_at !== null) return state
  }
}

/** What steps were given and what they gave: a record shows none of it, and a log may hold hundreds of megabytes. */
const contents: ReadonlySet<string> = new Set([
  "added",
  "answer",
  "arguments",
  "instruction",
  "messages",
  "output",
  "question",
  "result",
  "schema",
  "show",
  "summary",
  "text",
  "tool_definitions",
  "value",
])

function withoutContents(event: LogEvent): LogEvent {
  if (isTerminal(event.type)) return event
  const data = Object.fromEntries(Object.entries(event.data).filter(([name]) => !contents.has(name)))
  return { ...event, data } as LogEvent
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
