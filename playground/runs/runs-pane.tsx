import { signal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import type { ListedRunAnswer } from "../../src/client/client.ts"
import { lookAtRun } from "../run/open-run.ts"
import { keptRuns } from "../history/kept-runs.ts"
import { shownRun } from "../shown-run/shown-run.ts"
import { loadServerWorkflows, serverWorkflows } from "../service/served.ts"
import type { RunFilter } from "./server-runs.ts"
import {
  filterRuns,
  loadMoreRuns,
  loadRuns,
  moreRuns,
  previewOf,
  runFilter,
  runsTrouble,
  serverRuns,
  workflowFilter,
} from "./server-runs.ts"
import { tokensOf } from "../shown-run/run-status.ts"
import { showCost, showDuration, showMoment, showTime, showTokens } from "../ui/show.ts"
import { StateMark } from "../ui/state-mark.tsx"
import { runMarks } from "./run-marks.ts"
import { expiryText, runDays, runTotals } from "./run-days.ts"

const everyMs = 2_000

const filters: readonly [RunFilter, string][] = [
  ["all", "All states"],
  ["open", "Under way"],
  ["waiting", "Waiting for people"],
  ["ended", "Ended"],
  ["completed", "Completed"],
  ["failed", "Failed"],
  ["cancelled", "Cancelled"],
]

const search = signal("")

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
  const wanted = search.value.trim().toLowerCase()
  const runs = serverRuns.value?.filter((run) => wanted === "" || textOf(run).includes(wanted)) ?? null
  const trouble = runsTrouble.value
  return (
    <div class="column">
      <div class="toolbar run-filters">
        <input
          type="search"
          class="field"
          placeholder="Search"
          aria-label="Search the runs"
          value={search.value}
          onInput={(event) => (search.value = event.currentTarget.value)}
        />
        {/* The heading of a single day says the same. */}
        {runs === null || runDays(runs, Date.now()).length < 2 ? null : <span class="note">{runTotals(runs)}</span>}
        <span class="tools">
          <label class="choice">
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
              <select
                class="field"
                aria-label="Workflow"
                value={workflowFilter.value}
                onChange={(event) => filterRuns(runFilter.value, event.currentTarget.value)}
              >
                <option value="">All workflows</option>
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
        <RunDays runs={runs} />
      )}
    </div>
  )
}

function RunDays({ runs }: { readonly runs: readonly ListedRunAnswer[] }) {
  const now = Date.now()
  return (
    <div class="scrolls run-days" tabIndex={0} role="region" aria-label="Runs of this server">
      {runDays(runs, now).map((day) => (
        <section key={day.name} aria-label={day.name}>
          <h2 class="run-day">
            {day.name} <span class="note">{runTotals(day.runs)}</span>
          </h2>
          <ul class="run-list">
            {day.runs.map((run) => (
              <RunRow key={run.run_id} run={run} now={now} />
            ))}
          </ul>
        </section>
      ))}
      {moreRuns.value === null ? null : (
        <button type="button" class="button" onClick={() => void loadMoreRuns()}>
          Show more
        </button>
      )}
    </div>
  )
}

const startedBy: Readonly<Record<string, string>> = {
  rerun: "a re-run",
  responses: "by the Responses API",
  chat: "by the Chat API",
  "ag-ui": "by AG-UI",
}

/** The workflow's name, that of the file in this browser, or the steps of the source. */
function titleOf(run: ListedRunAnswer): string {
  const kept = keptRuns.value.find(({ run_id }) => run_id === run.run_id)
  const steps = previewOf(run)?.steps ?? []
  return (
    run.workflow ??
    kept?.label ??
    kept?.request.name ??
    (steps.length === 0 ? "a source without steps" : steps.join(", "))
  )
}

/** The schedule or webhook that started the run. */
function triggerText({ trigger }: ListedRunAnswer): string {
  if (trigger === undefined) return ""
  if ("webhook" in trigger) return `by the webhook ${trigger.webhook}`
  return trigger.due_at === null ? `${trigger.schedule}, by hand` : `by the schedule ${trigger.schedule}`
}

/** All that is written in a row, for the search. */
function textOf(run: ListedRunAnswer): string {
  const { input = "", result, steps = [] } = previewOf(run) ?? {}
  return [titleOf(run), ...steps, input, result ?? "", run.run_id, run.status, run.caller ?? "", triggerText(run)]
    .join(" ")
    .toLowerCase()
}

function RunRow({ run, now }: { readonly run: ListedRunAnswer; readonly now: number }) {
  const { run_id, version, status, created_at, finished_at, usage, caller } = run
  const [state, word] = runMarks[status]
  const began = Date.parse(created_at)
  const title = titleOf(run)
  const preview = previewOf(run)
  const figures = [
    finished_at === null ? "" : showDuration(Date.parse(finished_at) - began),
    showTokens(tokensOf(usage), status === "cancelled" ? 1 : 0, "tok"),
    showCost(usage.cost),
    triggerText(run) || (startedBy[preview?.started_by ?? ""] ?? ""),
    caller === undefined || caller === "" ? "" : `of ${caller}`,
  ]
  return (
    <li aria-current={shownRun.value?.run_id === run_id ? "true" : undefined}>
      <div class="run-about">
        <div class="run-head">
          <button
            type="button"
            class="button link"
            title={version === null ? run_id : `version ${version}, run ${run_id}`}
            aria-label={`Open the run of ${title} from ${showMoment(began)}`}
            onClick={() => lookAtRun(run_id)}
          >
            {title}
          </button>
          <span class="note run-when">{showTime(began)}</span>
        </div>
        {preview === undefined || preview.input === "" ? null : (
          <p class="run-preview" title={preview.input} dir="auto">
            <span class="visually-hidden">Input: </span>
            {preview.input}
          </p>
        )}
        {preview === undefined || preview.result === null || preview.result === "" ? null : (
          <p class="run-preview result" title={preview.result} dir="auto">
            <span aria-hidden="true">→ </span>
            <span class="visually-hidden">Result: </span>
            {preview.result}
          </p>
        )}
        <div class="run-foot">
          <StateMark state={state} text={word} />
          <span class="note">{figures.filter((figure) => figure !== "").join(" · ")}</span>
          <span class="note run-when">{expiryText(preview?.expires_at ?? null, now)}</span>
        </div>
      </div>
    </li>
  )
}
