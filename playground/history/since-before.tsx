import type { KeptRun } from "./kept-runs.ts"
import { keptRuns } from "./kept-runs.ts"
import { watchWhole } from "../shown-run/shown-run.ts"
import { compareRuns } from "./comparison.ts"
import { sinceBefore } from "./since-before.ts"

/** The run that is shown, once it is over, and the one before it of the same file. */
export function lastTwo(): { readonly before: KeptRun; readonly now: KeptRun } | null {
  const run = watchWhole()
  if (run?.isOver !== true) return null
  const runs = keptRuns.value
  const at = runs.findIndex(({ run_id }) => run_id === run.run_id)
  const now = runs[at]
  const before = now && runs.slice(at + 1).find(({ request }) => request.name === now.request.name)
  return now === undefined || before === undefined ? null : { before, now }
}

/** After a run: what is different from the one before it of the same file, and a way to compare them. */
export function SinceBefore() {
  const two = lastTwo()
  if (two === null) return null
  const { before, now } = two
  return (
    <p class="since-before" role="group" aria-label="Since the run before">
      <span class="note">Since the run before: {sinceBefore(before, now).join(" · ")}</span>
      <button type="button" class="button" onClick={() => void compareRuns([before, now])}>
        Compare
      </button>
    </p>
  )
}
