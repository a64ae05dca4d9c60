import { useEffect } from "preact/hooks"
import type { ListedRunAnswer } from "../../src/client/client.ts"
import { openRun } from "../run/follow-run.ts"
import { paneTab, resultTab } from "../state/layout.ts"
import { shownRun } from "../state/runs.ts"
import { loadServerWorkflows, serverWorkflows } from "../state/served.ts"
import type { RunFilter } from "../state/server-runs.ts"
import {
  filterRuns,
  loadMoreRuns,
  loadRuns,
  moreRuns,
  runFilter,
  runsTrouble,
  serverRuns,
  workflowFilter,
} from "../state/server-runs.ts"
import { tokensOf } from "../state/status.ts"
import { RunFigureHeads, RunFigures } from "../ui/run-figures.tsx"
import { counted, showMoment } from "../ui/show.ts"
import type { StateName } from "../ui/state-words.ts"
import { StateMark } from "../ui/state-mark.tsx"

const everyMs = 2_000

const filters: readonly [RunFilter, string][] = [
  ["all", "All"],
  ["open", "Under way"],
  ["waiting", "Waiting for people"],
  ["ended", "Ended"],
]

/** The runs of this server that its caller may see; the list follows them. */
export function RunsPane() {
  useEffect(() => {
    void loadRuns()
    void loadServerWorkflows()
    const timer = setInterval(() => {
      if (!document.hidden && runsTrouble.value === null) void loadRuns()
    }, everyMs)
    return () => clearInterval(timer)
  }, [])
  const runs = serverRuns.value
  const trouble = runsTrouble.value
  return (
    <div class="column">
      <div class="toolbar">
        <span class="note">{runs === null ? "" : counted(runs.length, "run")}</span>
        <span class="tools">
          <label class="choice">
            <span>State</span>
            <select
              class="field"
              aria-label="State"
              value={runFilter.value}
              onChange={(event) => filterRuns(event.currentTarget.value as RunFilter, workflowFilter.value)}
            >
              {filters.map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          {serverWorkflows.value.length === 0 ? null : (
            <label class="choice">
              <span>Workflow</span>
              <select
                class="field"
                aria-label="Workflow"
                value={workflowFilter.value}
                onChange={(event) => filterRuns(runFilter.value, event.currentTarget.value)}
              >
                <option value="">All</option>
                {serverWorkflows.value.map(({ name }) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
          )}
        </span>
      </div>
      {trouble === null ? null : (
        <p class="empty">
          {trouble}{" "}
          <button type="button" class="button outlined" onClick={() => void loadRuns()}>
            Try again
          </button>
        </p>
      )}
      {runs === null || trouble !== null ? null : runs.length === 0 ? (
        <p class="empty">No runs match. New runs are listed here as soon as they begin.</p>
      ) : (
        <RunTable runs={runs} />
      )}
    </div>
  )
}

function RunTable({ runs }: { readonly runs: readonly ListedRunAnswer[] }) {
  return (
    <div class="scrolls run-table" tabIndex={0} role="region" aria-label="Runs of this server">
      <table class="history runs">
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Workflow</th>
            <th scope="col">When</th>
            <RunFigureHeads />
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <RunRow key={run.run_id} run={run} />
          ))}
        </tbody>
      </table>
      {moreRuns.value === null ? null : (
        <button type="button" class="button" onClick={() => void loadMoreRuns()}>
          Show more
        </button>
      )}
    </div>
  )
}

const marks: Readonly<Record<ListedRunAnswer["status"], readonly [StateName, string]>> = {
  queued: ["waiting", "queued"],
  running: ["running", "running"],
  waiting: ["asking", "waiting"],
  cancelling: ["running", "cancelling"],
  completed: ["completed", "done"],
  failed: ["failed", "failed"],
  cancelled: ["cancelled", "cancelled"],
}

function RunRow({ run }: { readonly run: ListedRunAnswer }) {
  const { run_id, workflow, version, status, created_at, finished_at, usage } = run
  const [state, word] = marks[status]
  const began = Date.parse(created_at)
  const title = workflow ?? "sent source"
  return (
    <tr aria-current={shownRun.value?.run_id === run_id ? "true" : undefined}>
      <td>
        <StateMark state={state} text={word} />
      </td>
      <td>
        <button
          type="button"
          class="button link"
          title={version === null ? run_id : `version ${version}, run ${run_id}`}
          aria-label={`Open the run of ${title} from ${showMoment(began)}`}
          onClick={() => look(run_id)}
        >
          {title}
        </button>
      </td>
      <td class="note">{showMoment(began)}</td>
      <RunFigures
        duration_ms={finished_at === null ? null : Date.parse(finished_at) - began}
        tokens={tokensOf(usage)}
        cost={usage.cost}
      />
    </tr>
  )
}

/** Shows the run with its graph, timeline and details, live while it is under way. */
function look(run_id: string): void {
  if (shownRun.value?.run_id !== run_id) openRun(run_id)
  resultTab.value = "timeline"
  paneTab.value = "results"
}
