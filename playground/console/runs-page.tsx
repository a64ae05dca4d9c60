import { useEffect } from "preact/hooks"
import { loadServerWorkflows } from "../service/served.ts"
import { counted, showMoment } from "../ui/show.ts"
import { LaterPage } from "./later-page.tsx"
import { changed, goTo, place } from "./place.ts"
import { RunActions } from "./run-actions.tsx"
import { RunCharts } from "./run-charts.tsx"
import { RunFilters } from "./run-filters.tsx"
import { filterKey, isLoading, listTrouble, loadMore, loadRuns, newRuns, refresh, runList } from "./run-list.ts"
import { hasFilters } from "./run-query.ts"
import { RunTable } from "./run-table.tsx"

const everyMs = 3_000

/** The runs of this service that the caller may see, with one of them beside the list. */
export function RunsPage() {
  const filters = filterKey.value
  useEffect(() => void loadRuns(), [filters])
  useEffect(() => {
    void loadServerWorkflows()
    const timer = setInterval(() => {
      if (!document.hidden) void refresh()
    }, everyMs)
    return () => clearInterval(timer)
  }, [])
  const run = place.value.params.get("run")
  useEffect(() => {
    if (run === null) return undefined
    const close = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]") !== null) return
      goTo("runs", changed({ run: null }))
    }
    addEventListener("keydown", close)
    return () => removeEventListener("keydown", close)
  }, [run])
  return (
    <div class={run === null ? "console-split" : "console-split has-run"}>
      <section class="pane console-list" aria-label="Runs">
        <RunFilters />
        <RunCharts />
        <RunActions />
        <Rows />
      </section>
      {run === null ? null : <LaterPage>{({ RunView }) => <RunView key={run} run_id={run} />}</LaterPage>}
    </div>
  )
}

function Rows() {
  const list = runList.value
  if (listTrouble.value !== null) {
    return (
      <div class="empty" role="alert">
        <p>{listTrouble.value}</p>
        <button type="button" class="button outlined" onClick={() => void loadRuns()}>
          Try again
        </button>
      </div>
    )
  }
  if (list === null) return <p class="empty">Loading …</p>
  return (
    <>
      <NewRuns />
      {list.runs.length === 0 ? <None /> : <RunTable runs={list.runs} />}
      <Further />
    </>
  )
}

/** Above the list, in a line that is always there: rows do not move when runs begin. */
function NewRuns() {
  const { length } = newRuns.value
  const list = runList.value
  const count = list?.runs.length ?? 0
  return (
    <p class="list-line note">
      <span aria-live="polite">
        {counted(count, "run")}
        {list?.next === null ? "" : ", and more"}
        {isLoading.value ? " · loading …" : ""}
      </span>
      {length === 0 ? null : (
        <button type="button" class="button link" onClick={() => void loadRuns()}>
          Show {counted(length, "new run")}
        </button>
      )}
    </p>
  )
}

function None() {
  const { params } = place.value
  const list = runList.value
  // What was not looked at may have some.
  if (list !== null && list.next !== null)
    return <p class="empty">Nothing among the runs that were looked at so far.</p>
  return hasFilters(params) ? (
    <p class="empty">No run of this service has all of these filters.</p>
  ) : (
    <div class="empty">
      <p>
        Nothing has run yet. Runs are listed here as soon as they begin: press Run in the{" "}
        <a href="../playground">playground</a>, or send one.
      </p>
      <p>
        <code>npx wire execute hello.wire --input name=Ada</code>
      </p>
    </div>
  )
}

function Further() {
  const list = runList.value
  if (list === null || list.next === null) return null
  const { searchedBackTo } = list
  return (
    <p class="list-line note">
      {searchedBackTo === null ? null : `Searched back to ${showMoment(Date.parse(searchedBackTo))}.`}
      <button type="button" class="button outlined" disabled={isLoading.value} onClick={() => void loadMore()}>
        {searchedBackTo === null ? "Show more" : "Search further back"}
      </button>
    </p>
  )
}
