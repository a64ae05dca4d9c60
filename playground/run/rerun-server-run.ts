import { announce, notify } from "../page/notices.ts"
import { asksForKey, client, toWireError } from "../service/service.ts"
import type { RanAs } from "../shown-run/run-view.ts"

/** What a person can choose between: the version that the run was of, or the one that is served now. */
export interface RerunChoice {
  readonly label: string
  readonly detail: string
  readonly run: () => void
}

/** The two re-runs of a run of one of the server's workflows, with the server's secrets. `onRun` shows the new run. */
export function rerunsOf(run_id: string, { workflow, version }: RanAs, onRun: (run_id: string) => void): RerunChoice[] {
  return [
    {
      label: "The same version",
      detail: `${workflow} ${version}`,
      run: () => void rerun(run_id, { same_version: true }, onRun),
    },
    {
      label: "The version that is served now",
      detail: workflow,
      run: () => void rerun(run_id, { version: "current" }, onRun),
    },
  ]
}

async function rerun(
  run_id: string,
  body: { readonly same_version: true } | { readonly version: "current" },
  onRun: (run_id: string) => void,
): Promise<void> {
  try {
    // Leaving the loop does not cancel the run: it is followed where it is shown.
    for await (const _ of client().rerun(run_id, body, { onRun })) break
    announce("Run started.")
  } catch (error) {
    if (asksForKey(error, () => void rerun(run_id, body, onRun))) return
    const sentence = `Not started: ${toWireError(error).message}`
    notify(sentence, "wrong")
    announce(sentence)
  }
}
