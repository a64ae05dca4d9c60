import { totalTokens } from "../log/usage.ts"
import type { ListedRun, RunPosition, RunQuery } from "../ports/run-list.ts"
import type { Score } from "../ports/scores.ts"
import type { RunStore } from "../ports/store.ts"

/** What a search looks for that no column of the store answers. */
export interface RunFilter {
  /** In lower case; each must occur. */
  readonly words: readonly string[]
  readonly min_cost: number | null
  readonly min_seconds: number | null
}

/** What one request may look at. */
export interface SearchLimits {
  readonly ms: number
  readonly runs: number
}

export const searchLimits: SearchLimits = { ms: 2_000, runs: 20_000 }

export interface FoundRuns {
  /** At most one more than were asked for, which tells that there is a next page. */
  readonly found: readonly ListedRun[]
  /** The last run that was looked at, where not all were and the page is not full. */
  readonly stoppedAt: RunPosition | null
}

/** Runs that are read at once: a list opens two texts for each of them, on the service's own thread. */
const batch = 500

/** Reads the list, newest first, until a page is full, all runs were looked at, or the request has looked long enough. */
export async function searchRuns(
  store: RunStore,
  query: Omit<RunQuery, "limit" | "previews">,
  filter: RunFilter,
  limit: number,
  limits: SearchLimits = searchLimits,
): Promise<FoundRuns> {
  const until = performance.now() + limits.ms
  const found: ListedRun[] = []
  const { words, min_cost, min_seconds } = filter
  const isPlain = words.length === 0 && min_cost === null && min_seconds === null
  const size = isPlain ? limit + 1 : batch
  let { after } = query
  for (let looked = 0; ; looked += size) {
    const runs = await store.list({ ...query, previews: true, limit: size, after })
    found.push(...runs.filter((run) => fits(run, filter)))
    const last = runs.at(-1)
    if (found.length > limit || last === undefined || runs.length < size) return { found, stoppedAt: null }
    after = last
    const isOver = looked + size >= limits.runs || performance.now() >= until
    if (isOver) return { found, stoppedAt: last }
  }
}

function fits(run: ListedRun, { words, min_cost, min_seconds }: RunFilter): boolean {
  if (min_cost !== null && (run.usage.cost ?? 0) < min_cost) return false
  if (min_seconds !== null && (durationOf(run) ?? -1) < min_seconds * 1000) return false
  if (words.length === 0) return true
  const { run_id, workflow, preview, end } = run
  const texts = [run_id, workflow?.name, preview?.input, end?.output, end?.error?.message, end?.error?.kind]
  const text = texts
    .filter((one) => typeof one === "string")
    .join("\n")
    .toLowerCase()
  return words.every((word) => text.includes(word))
}

/** Words of a search, in lower case. */
export function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
}

/** What the list shows of a run besides its columns. */
export function detailsOf(run: ListedRun): {
  readonly started_by: ListedRun["started_by"]
  readonly duration_ms: number | null
  readonly tokens: number | null
  readonly cost: number | null
  readonly error: NonNullable<ListedRun["end"]>["error"]
  readonly input_preview: string | null
  readonly output_preview: string | null
  readonly scores: Score[]
} {
  const { usage, preview, end } = run
  const tokens = totalTokens(usage)
  return {
    started_by: run.started_by,
    duration_ms: durationOf(run),
    tokens: tokens === 0 ? null : tokens,
    cost: usage.cost,
    error: end?.error ?? null,
    input_preview: preview?.input ?? null,
    output_preview: end?.output ?? null,
    scores: [...run.scores],
  }
}

function durationOf({ created_at, finished_at }: ListedRun): number | null {
  return finished_at === null ? null : Math.max(0, finished_at - created_at)
}
