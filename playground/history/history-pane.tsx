import { signal } from "@preact/signals"
import { openWorkflow } from "../state/open-workflow.ts"
import { compareRuns } from "./comparison.ts"
import type { KeptRun } from "../state/history.ts"
import { clearHistory, keptRuns, openKept } from "../state/history.ts"
import type { RunRequest } from "../state/run-view.ts"
import { toOptionTexts } from "../state/options.ts"
import { resultTab } from "../state/layout.ts"
import { notify } from "../state/notices.ts"
import { graphOf, shownRun } from "../state/runs.ts"
import { selection } from "../state/selection.ts"
import { Icon } from "../ui/icon.tsx"
import { RunFigureHeads, RunFigures } from "../ui/run-figures.tsx"
import { counted, showMoment } from "../ui/show.ts"
import { StateMark } from "../ui/state-mark.tsx"

/** Ids of the runs that are ticked to be compared, at most two. */
const ticked = signal<readonly string[]>([])

/** The last runs of this browser. */
export function HistoryPane() {
  const runs = keptRuns.value
  if (runs.length === 0) {
    return (
      <p class="empty">Runs of this browser are listed here once they have ended, to look at again and to compare.</p>
    )
  }
  const chosen = ticked.value.filter((id) => runs.some(({ run_id }) => run_id === id))
  return (
    <div class="column">
      <div class="toolbar">
        <span class="note">{counted(runs.length, "run")}</span>
        <span class="tools">
          <button
            type="button"
            class="button"
            disabled={chosen.length !== 2}
            onClick={() => void compareRuns(runs.filter(({ run_id }) => chosen.includes(run_id)))}
          >
            <Icon name="compare" />
            {chosen.length === 2 ? "Compare the two" : `Tick ${2 - chosen.length} to compare`}
          </button>
          <button type="button" class="button" onClick={() => void clearHistory()}>
            <Icon name="trash" />
            Clear
          </button>
        </span>
      </div>
      <div class="scrolls" tabIndex={0} role="region" aria-label="Earlier runs">
        <table class="history">
          <thead>
            <tr>
              <th scope="col">
                <span class="visually-hidden">Compare</span>
              </th>
              <th scope="col">Run</th>
              <th scope="col">When</th>
              <th scope="col">State</th>
              <RunFigureHeads />
              <th scope="col">
                <span class="visually-hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <HistoryRow key={run.run_id} run={run} isTicked={chosen.includes(run.run_id)} />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}

function HistoryRow({ run, isTicked }: { readonly run: KeptRun; readonly isTicked: boolean }) {
  const isShown = shownRun.value?.run_id === run.run_id
  const title = titleOf(run)
  return (
    <tr aria-current={isShown ? "true" : undefined}>
      <td>
        <input
          type="checkbox"
          aria-label={`Compare ${title}`}
          checked={isTicked}
          onChange={(event) => {
            const others = ticked.value.filter((id) => id !== run.run_id)
            ticked.value = event.currentTarget.checked ? [...others, run.run_id].slice(-2) : others
          }}
        />
      </td>
      <td>
        <button type="button" class="button link" onClick={() => void look(run)}>
          {title}
        </button>
      </td>
      <td class="note">{showMoment(run.asked_at)}</td>
      <td>
        <StateMark state={run.status} />
      </td>
      <RunFigures duration_ms={run.duration_ms} tokens={run.tokens} cost={run.cost} />
      <td>
        <button
          type="button"
          class="button"
          aria-label={`Restore the source and input of ${title}`}
          onClick={() => restore(run.request, title)}
        >
          Restore
        </button>
      </td>
    </tr>
  )
}

/** A run by its steps: `review, verdict`. */
export function titleOf({ request }: Pick<KeptRun, "request">): string {
  const names = [...request.source.matchAll(/^\s*agent\s+([A-Za-z_]\w*)/gm)].map(([, name]) => name)
  if (names.length === 0) return "no agents"
  return names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ")
}

function restore({ source, input, options, origin }: RunRequest, name: string): void {
  openWorkflow({ name, source, input, options: toOptionTexts(options), origin })
}

async function look(kept: KeptRun): Promise<void> {
  const run = await openKept(kept)
  if (run === undefined) {
    notify("The events of this run are not kept any more.", "wrong")
    return
  }
  graphOf.value = "run"
  selection.value = null
  shownRun.value = run
  resultTab.value = "timeline"
}
