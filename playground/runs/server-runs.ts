import { signal } from "@preact/signals"
import type { ListedRunAnswer } from "../../src/client/client.ts"
import { asksForKey, client, toWireError } from "../service/service.ts"

export type RunFilter = "all" | "open" | "waiting" | "ended" | "completed" | "failed" | "cancelled"

type Preview = NonNullable<ListedRunAnswer["preview"]>

/** What each run was given and what came of it, by the id and the status of the run: it changes with its status alone. */
export const previews = signal<ReadonlyMap<string, Preview>>(new Map())

function previewKey({ run_id, status }: ListedRunAnswer): string {
  return `${run_id} ${status}`
}

export function previewOf(run: ListedRunAnswer): Preview | undefined {
  return previews.value.get(previewKey(run))
}

/** The runs of this server, newest first; null before the first look. */
export const serverRuns = signal<readonly ListedRunAnswer[] | null>(null)
export const runFilter = signal<RunFilter>("all")
/** Empty for all workflows. */
export const workflowFilter = signal("")
/** Why the list cannot be had. */
export const runsTrouble = signal<string | null>(null)
/** `after` of the next page; null where there is none. */
export const moreRuns = signal<string | null>(null)

const pageSize = 50
let latest = 0

/** Reads the list anew; keeps as many pages as are shown. */
export async function loadRuns(): Promise<void> {
  const turn = ++latest
  const [status, workflow] = [runFilter.value, workflowFilter.value]
  try {
    const limit = Math.min(500, Math.max(pageSize, serverRuns.value?.length ?? 0))
    const answer = await client().runs({ ...queryOf(status, workflow), limit })
    if (turn !== latest) return
    serverRuns.value = answer.runs
    moreRuns.value = answer.next
    if (answer.runs.some((run) => previewOf(run) === undefined)) {
      takePreviews((await client().runs({ ...queryOf(status, workflow), limit, include: "preview" })).runs)
    }
    runsTrouble.value = null
  } catch (error) {
    if (turn !== latest) return
    if (!asksForKey(error, () => void loadRuns())) runsTrouble.value = toWireError(error).message
    else runsTrouble.value = "An API key is needed to see the runs."
  }
}

export async function loadMoreRuns(): Promise<void> {
  const after = moreRuns.value
  if (after === null) return
  try {
    const query = queryOf(runFilter.value, workflowFilter.value)
    const answer = await client().runs({ ...query, limit: pageSize, after, include: "preview" })
    takePreviews(answer.runs)
    serverRuns.value = [...(serverRuns.value ?? []), ...answer.runs]
    moreRuns.value = answer.next
  } catch (error) {
    runsTrouble.value = toWireError(error).message
  }
}

function takePreviews(runs: readonly ListedRunAnswer[]): void {
  const known = new Map(previews.value)
  for (const run of runs) if (run.preview !== undefined) known.set(previewKey(run), run.preview)
  previews.value = known
}

/** Shows other runs: those before are no longer of interest. */
export function filterRuns(status: RunFilter, workflow: string): void {
  runFilter.value = status
  workflowFilter.value = workflow
  serverRuns.value = null
  void loadRuns()
}

function queryOf(status: RunFilter, workflow: string) {
  return { ...(status !== "all" && { status }), ...(workflow !== "" && { workflow }) }
}
