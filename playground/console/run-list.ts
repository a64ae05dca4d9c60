import { batch, computed, signal } from "@preact/signals"
import type { ListedRunAnswer, RunsAnswer } from "../../src/client/client.ts"
import { asksForKey, client, toWireError } from "../service/service.ts"
import { place } from "./place.ts"
import { requestOf } from "./run-query.ts"

// The list of runs as the address wants it. Runs that began since are counted, and shown when a person asks for them: rows never move by themselves.

export interface RunList {
  readonly runs: readonly ListedRunAnswer[]
  /** `after` of the next page; null where there is none. */
  readonly next: string | null
  /** How far back the service has looked, where it has not looked at all runs. */
  readonly searchedBackTo: string | null
}

/** Null before the first answer. */
export const runList = signal<RunList | null>(null)
export const listTrouble = signal<string | null>(null)
export const isLoading = signal(false)
/** Runs that began after the list was read. */
export const newRuns = signal<readonly ListedRunAnswer[]>([])
export const selected = signal<ReadonlySet<string>>(new Set())

/** The filters as one text: the list is read anew when it changes. */
export const filterKey = computed(() => {
  const params = new URLSearchParams(place.value.params)
  params.delete("run")
  return params.toString()
})

const pageSize = 50
const maxNew = 50
let turn = 0

async function fetchPage(more: object): Promise<RunsAnswer> {
  return client().runs({ ...requestOf(place.peek().params, Date.now()), limit: pageSize, include: "preview", ...more })
}

export async function loadRuns(): Promise<void> {
  const mine = ++turn
  isLoading.value = true
  try {
    const { runs, next, searched_back_to } = await fetchPage({})
    if (mine !== turn) return
    batch(() => {
      runList.value = { runs, next, searchedBackTo: searched_back_to }
      newRuns.value = []
      selected.value = new Set([...selected.peek()].filter((id) => runs.some(({ run_id }) => run_id === id)))
      listTrouble.value = null
    })
  } catch (error) {
    if (mine === turn) report(error, () => void loadRuns())
  } finally {
    if (mine === turn) isLoading.value = false
  }
}

/** Goes on where the list or the search stopped. */
export async function loadMore(): Promise<void> {
  const list = runList.peek()
  if (list === null || list.next === null || isLoading.peek()) return
  const mine = turn
  isLoading.value = true
  try {
    const { runs, next, searched_back_to } = await fetchPage({ after: list.next })
    if (mine !== turn) return
    runList.value = { runs: [...list.runs, ...runs], next, searchedBackTo: searched_back_to }
  } catch (error) {
    if (mine === turn) report(error, () => void loadMore())
  } finally {
    if (mine === turn) isLoading.value = false
  }
}

/** Takes over what became of the runs that are listed, and counts those that began since. */
export async function refresh(): Promise<void> {
  const list = runList.peek()
  // A search reads thousands of runs: it is not repeated every few seconds.
  if (list === null || isLoading.peek() || listTrouble.peek() !== null || place.peek().params.has("q")) return
  const mine = turn
  try {
    const { runs } = await fetchPage({})
    if (mine !== turn) return
    const now = new Map(runs.map((run) => [run.run_id, run]))
    const known = new Set(list.runs.map(({ run_id }) => run_id))
    batch(() => {
      runList.value = { ...list, runs: list.runs.map((run) => now.get(run.run_id) ?? run) }
      newRuns.value = runs.filter(({ run_id }) => !known.has(run_id)).slice(0, maxNew)
    })
  } catch {
    // The next try, or the person's own, says what is wrong.
  }
}

function report(error: unknown, retry: () => void): void {
  listTrouble.value = asksForKey(error, retry)
    ? "An API key is needed to see the runs."
    : (toWireError(error)
        .issues.map(({ message }) => message)
        .find((message) => message !== "") ?? toWireError(error).message)
}

export function toggleSelected(run_id: string): void {
  const next = new Set(selected.peek())
  if (!next.delete(run_id)) next.add(run_id)
  selected.value = next
}
