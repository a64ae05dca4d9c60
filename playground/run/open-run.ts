import { aroundOf } from "../files/open-workflow.ts"
import { batch, signal } from "@preact/signals"
import { keptRuns } from "../history/kept-runs.ts"
import { readKept } from "../page/keep.ts"
import { paneTab, resultTab } from "../page/layout.ts"
import { readAddress } from "../share/link.ts"
import { allContents, openFile, showFile } from "../files/files.ts"
import { toOptionTexts } from "../form/options.ts"
import type { RunRequest } from "../shown-run/run-view.ts"
import { RunView, unknownRequest } from "../shown-run/run-view.ts"
import { shownRun } from "../shown-run/shown-run.ts"
import { select } from "../shown-run/selection.ts"
import type { Served } from "../service/served.ts"
import { asksForKey, client } from "../service/service.ts"
import type { Remembered } from "./follow-run.ts"
import { resume } from "./follow-run.ts"

/** The run that is being opened: its source is on its way. */
export const openingRun = signal<string | undefined>(undefined)

/** Shows a run by its id alone, with its own source and input in the editor, for those who may see them. */
export async function openRun(run_id: string): Promise<void> {
  openingRun.value = run_id
  select(null)
  const found = await requestOf(run_id)
  // Another one has been opened since, or a key is asked for.
  if (openingRun.value !== run_id || found === "later") return
  if (found !== undefined) showFileOf(found)
  const run = new RunView(found?.request ?? unknownRequest, Date.now())
  run.run_id = run_id
  run.isOpened = true
  resume(run, run_id)
  openingRun.value = undefined
}

interface Found {
  readonly request: RunRequest
  readonly served: Served | null
}

/** What a run was asked to do; undefined where the service does not say. */
async function requestOf(run_id: string): Promise<Found | undefined | "later"> {
  try {
    const { source, file, modules, input, options, workflow, version } = await client().runRequest(run_id)
    const served = workflow === null || version === null ? null : await servedAs(workflow, version)
    const name = workflow ?? keptRuns.value.find((run) => run.run_id === run_id)?.request.name
    const request: RunRequest = {
      name: name ?? `Run ${run_id.slice(0, 6)}`,
      source,
      input,
      options,
      origin: served === null ? "link" : "own",
      ...(modules !== undefined && { around: aroundOf(file, modules) }),
      ...(served !== null && { workflow: served.name }),
      ...(workflow !== null && version !== null && { ranAs: { workflow, version } }),
    }
    return { request, served }
  } catch (error) {
    if (asksForKey(error, () => void openRun(run_id))) return "later"
    return undefined
  }
}

/** The server's workflow, where its file has not changed since. */
async function servedAs(name: string, version: string): Promise<Served | null> {
  try {
    const now = await client().workflowDetail(name)
    return now.version === version ? { name, version, secrets: now.secrets } : null
  } catch {
    return null
  }
}

/** Puts the source and the input of a run into the editor, unless a file has just these. */
export function showFileOf({ request, served }: Found): void {
  const { name = "", source, around = {}, input, options, origin } = request
  const open = allContents().find(
    ({ content }) => content.source === source && JSON.stringify(content.input) === JSON.stringify(input),
  )
  if (open !== undefined) showFile(open.id)
  else openFile({ name, source, around, input, options: toOptionTexts(options), origin, served })
}

/** The run that the address names, else the one that was under way, or the last one that ended, when the page was left. */
export function findRunAgain(): void {
  const kept = readKept("session", "run") as Remembered | undefined
  const wanted = readAddress(location.hash).run
  if (wanted !== undefined && kept?.run_id !== wanted) {
    // On a small screen only one pane is seen: who follows a link to a run looks for the run.
    paneTab.value = "results"
    void openRun(wanted)
    return
  }
  if (typeof kept?.run_id !== "string" || typeof kept.request?.source !== "string") return
  const run = new RunView(kept.request, kept.asked_at)
  run.isOpened = kept.isOpened === true
  run.run_id = kept.run_id
  run.skew = kept.skew
  resume(run, kept.run_id)
}

/** Shows a run with its graph, timeline and details, live while it is under way. */
export function lookAtRun(run_id: string): void {
  // One step of the browser's history.
  batch(() => {
    resultTab.value = "timeline"
    paneTab.value = "results"
    if (shownRun.value?.run_id !== run_id) void openRun(run_id)
  })
}
