import { signal } from "@preact/signals"
import type { StreamEvent } from "../../src/client/client.ts"
import type { RunState } from "../../src/log/run-state.ts"
import type { RunRequest } from "../shown-run/run-view.ts"
import type { StepFigures } from "./ranges.ts"
import { RunView, textKey } from "../shown-run/run-view.ts"
import { showPreview } from "../ui/show.ts"
import { tokensOf } from "../shown-run/run-status.ts"

/** A run in the list of the history. */
export interface KeptRun {
  readonly run_id: string
  readonly asked_at: number
  readonly request: RunRequest
  readonly status: "completed" | "failed" | "cancelled"
  readonly duration_ms: number
  readonly tokens: number
  /** Null where it is not known; runs that an older page kept have none. */
  readonly cost?: number | null
  /** Calls that the end of the run cut off, where there are any: more was used than is known. */
  readonly cutOff?: number
  readonly events: number
  /** By step that ran to its end, and not from a cache or an earlier run; runs that an older page kept have none. */
  readonly steps?: Readonly<Record<string, StepFigures>>
  /** The output in one line, or why there is none; runs that an older page kept have none. */
  readonly result?: string
  /** What the author called it. */
  readonly label?: string
}

/** The last runs of this browser, the newest first. */
export const keptRuns = signal<readonly KeptRun[]>([])

const most = 50
/** Events of a larger run are not kept: it can be looked at again as long as the service keeps it. */
const largest = 8_000_000

/** Keeps a run that has ended; `clean` takes the secrets' values out of its text. */
export async function addToHistory(run: RunView, clean: (text: string) => string): Promise<void> {
  const { run_id, asked_at, request, state } = run
  const { status, duration_ms } = state
  if (run_id === undefined || (status !== "completed" && status !== "failed" && status !== "cancelled")) return
  const tokens = tokensOf(state.usage)
  // A run that is found again after a reload keeps its label; before the list has been loaded, see below.
  const label = keptRuns.value.find((other) => other.run_id === run_id)?.label
  // What was written piece by piece is whole in the events that follow, unless the end of the run cut it off.
  const events = run.events.filter(
    ({ type, data }) =>
      type !== "agent_delta" || ("agent" in data && run.texts.has(textKey(data.agent, data.iteration))),
  )
  const kept: KeptRun = {
    run_id,
    asked_at,
    request,
    status,
    duration_ms: duration_ms ?? 0,
    tokens,
    cost: state.usage.cost,
    ...(state.cut_off !== undefined && { cutOff: state.cut_off }),
    events: events.length,
    steps: figuresOfSteps(state),
    result: state.error?.message ?? (status === "completed" ? showPreview(state.output) : ""),
    ...(label !== undefined && { label }),
  }
  const text = clean(JSON.stringify(events))
  const summary = JSON.parse(clean(JSON.stringify(kept))) as KeptRun
  keptRuns.value = [summary, ...keptRuns.value.filter((other) => other.run_id !== run_id)].slice(0, most)
  await attempt(async (database) => {
    const { runs, logs } = stores(database, "readwrite")
    const before = (await asked(runs.get(run_id))) as KeptRun | undefined
    runs.put({ ...labelOf(before), ...summary })
    if (text.length <= largest) logs.put({ run_id, events: JSON.parse(text) as StreamEvent[] })
    // By what the browser keeps: after a reload this may come before the list has been loaded.
    const all = (await asked(runs.getAll())) as KeptRun[]
    for (const old of all.toSorted((a, b) => b.asked_at - a.asked_at).slice(most)) {
      runs.delete(old.run_id)
      logs.delete(old.run_id)
    }
  })
}

function figuresOfSteps({ nodes }: RunState): Record<string, StepFigures> {
  const ran = nodes.filter(
    ({ kind, state, cached, reused = 0 }) => kind !== "output" && state === "completed" && !cached && reused === 0,
  )
  return Object.fromEntries(
    ran.map(({ id, duration_ms, usage }) => [
      id,
      { ms: duration_ms ?? 0, tokens: tokensOf(usage), cost: usage.cost ?? null },
    ]),
  )
}

export async function loadHistory(): Promise<void> {
  const kept = await attempt(async (database) => asked(stores(database, "readonly").runs.getAll()))
  if (kept === undefined) return
  const stored = new Map((kept as KeptRun[]).map((run) => [run.run_id, run]))
  for (const run of keptRuns.value) stored.set(run.run_id, { ...labelOf(stored.get(run.run_id)), ...run })
  keptRuns.value = [...stored.values()].toSorted((a, b) => b.asked_at - a.asked_at).slice(0, most)
}

function labelOf(run: KeptRun | undefined): Pick<KeptRun, "label"> {
  return run?.label === undefined ? {} : { label: run.label }
}

/** The run with its events, as it was; undefined when they are not kept. */
export async function openKept(kept: KeptRun): Promise<RunView | undefined> {
  const log = await attempt(async (database) => asked(stores(database, "readonly").logs.get(kept.run_id)))
  const events = (log as { events?: StreamEvent[] } | undefined)?.events
  if (events === undefined) return undefined
  const run = new RunView(kept.request, kept.asked_at)
  run.run_id = kept.run_id
  run.label = kept.label
  for (const event of events) run.take(event)
  return run
}

/** Gives a run a name of its own; an empty one takes it away. */
export async function labelRun({ label: _old, ...run }: KeptRun, given: string): Promise<void> {
  const label = given.trim().slice(0, 80)
  const named: KeptRun = label === "" ? run : { ...run, label }
  keptRuns.value = keptRuns.value.map((other) => (other.run_id === run.run_id ? named : other))
  await attempt(async (database) => asked(stores(database, "readwrite").runs.put(named)))
}

/** Whether a person is asked once more before the history is cleared. */
export const asksToClear = signal(false)

export async function clearHistory(): Promise<void> {
  keptRuns.value = []
  await attempt(async (database) => {
    const { runs, logs } = stores(database, "readwrite")
    runs.clear()
    await asked(logs.clear())
  })
}

// ------------------------------------------------------------------------------------------------------ IndexedDB

function stores(database: IDBDatabase, mode: IDBTransactionMode): { runs: IDBObjectStore; logs: IDBObjectStore } {
  const transaction = database.transaction(["runs", "logs"], mode)
  return { runs: transaction.objectStore("runs"), logs: transaction.objectStore("logs") }
}

function asked<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error ?? new Error("The browser's database failed"))
  })
}

/** Without a database (a private window, say) the history lasts as long as the page. */
async function attempt<T>(work: (database: IDBDatabase) => Promise<T>): Promise<T | undefined> {
  try {
    const database = await open()
    try {
      return await work(database)
    } finally {
      database.close()
    }
  } catch {
    return undefined
  }
}

function open(): Promise<IDBDatabase> {
  const request = indexedDB.open("wireworks", 1)
  request.onupgradeneeded = () => {
    request.result.createObjectStore("runs", { keyPath: "run_id" })
    request.result.createObjectStore("logs", { keyPath: "run_id" })
  }
  return asked(request)
}
