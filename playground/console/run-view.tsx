import { signal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { DetailsPane } from "../details/details-pane.tsx"
import { EventsPane } from "../events/events-pane.tsx"
import { GraphPane } from "../graph/graph-pane.tsx"
import { OutputPane } from "../output/output-pane.tsx"
import { announce } from "../page/notices.ts"
import { CancelDialog } from "../run/cancel-dialog.tsx"
import { QuestionsPane } from "../questions/questions-pane.tsx"
import { rerunsOf } from "../run/rerun-server-run.ts"
import { resume } from "../run/follow-run.ts"
import { asksToCancel, requestCancel } from "../run/request-cancel.ts"
import { baseUrl, client } from "../service/service.ts"
import { RunView as ShownRun, unknownRequest } from "../shown-run/run-view.ts"
import { statusOf } from "../shown-run/run-status.ts"
import { select, selection } from "../shown-run/selection.ts"
import { graphOf, shownRun, watchWhole } from "../shown-run/shown-run.ts"
import { hasEditor } from "../shown-run/standing.ts"
import { TimelinePane } from "../timeline/timeline-pane.tsx"
import { copyText } from "../share/copy.ts"
import { Icon } from "../ui/icon.tsx"
import { Menu } from "../ui/menu.tsx"
import { StateMark } from "../ui/state-mark.tsx"
import { TabPanel, Tabs } from "../ui/tabs.tsx"
import { changed, goTo } from "./place.ts"
import "../style/graph.css"
import "../style/timeline.css"
import "../style/events.css"
import "../style/details.css"
import "../style/reading.css"
import "../style/trace.css"
import "../style/run-limits.css"

type View = "result" | "timeline" | "graph" | "questions" | "events"

const view = signal<View>("result")

hasEditor.value = false

/** One run beside the list, live while it goes on: result or error, timeline, graph, events. */
export function RunView({ run_id }: { readonly run_id: string }) {
  useEffect(() => {
    void open(run_id)
    return () => {
      shownRun.peek()?.leaving.abort()
      shownRun.value = null
      select(null)
    }
  }, [run_id])
  const run = watchWhole()
  const close = (): void => goTo("runs", changed({ run: null }))
  return (
    <section class="pane console-run" aria-label="The run">
      <header class="console-run-head">
        <div>
          <h2>{run?.request.name ?? run_id}</h2>
          <button
            type="button"
            class="button link mono"
            title="Copy the id"
            onClick={() => void copyText(run_id, "The id")}
          >
            {run_id}
          </button>
        </div>
        <div class="tools">
          {run === null || run.isOver ? null : (
            <button type="button" class="button outlined" onClick={() => requestCancel(run)}>
              <Icon name="stop" />
              {run.cancelling ? "Stop waiting" : "Cancel"}
            </button>
          )}
          {run === null || !run.isOver ? null : <RunAgain run_id={run_id} run={run} />}
          <a class="button outlined" href={`${baseUrl}/playground#run=${encodeURIComponent(run_id)}`}>
            <Icon name="jump" />
            Open in playground
          </a>
          <button type="button" class="button square" aria-label="Close the run" title="Close (Esc)" onClick={close}>
            <Icon name="close" />
          </button>
        </div>
      </header>
      {run === null ? <p class="empty">Loading …</p> : <Shown run={run} />}
      {run !== null && asksToCancel.value === run ? <CancelDialog run={run} /> : null}
    </section>
  )
}

/** Of a workflow that the server has. */
function RunAgain({ run_id, run }: { readonly run_id: string; readonly run: ShownRun }) {
  const { ranAs } = run.request
  if (ranAs === undefined) return null
  const choices = rerunsOf(run_id, ranAs, (again) => goTo("runs", changed({ run: again })))
  return (
    <Menu
      label="Run again"
      align="end"
      items={choices.map(({ label, detail, run: onSelect }) => ({ label, detail, onSelect }))}
    >
      <Icon name="play" />
      Run again
    </Menu>
  )
}

function Shown({ run }: { readonly run: ShownRun }) {
  // Drawn anew with each change of the run, which stays the same object.
  watchWhole()
  const { state, text } = statusOf(run)
  const { questions } = run.state
  const current = view.value === "questions" && questions.length === 0 ? "result" : view.value
  const open = questions.filter(({ status }) => status === "open").length
  return (
    <>
      <p class="console-run-state">
        <StateMark state={state} text={text} />
      </p>
      <Tabs<View>
        label="Views of the run"
        id="run"
        current={current}
        onSelect={(name) => (view.value = name)}
        items={[
          { name: "result", label: run.state.error === null ? "Result" : "Error" },
          { name: "timeline", label: "Timeline" },
          { name: "graph", label: "Graph" },
          ...(questions.length === 0 ? [] : [{ name: "questions" as const, label: "Questions", count: open }]),
          { name: "events", label: "Events", count: run.events.length - run.deltas },
        ]}
      />
      <TabPanel id="run" name={current} class="column">
        {current === "result" ? (
          <OutputPane />
        ) : current === "timeline" ? (
          <TimelinePane />
        ) : current === "graph" ? (
          <GraphPane />
        ) : current === "questions" ? (
          <QuestionsPane />
        ) : (
          <EventsPane />
        )}
      </TabPanel>
      {selection.value === null || current === "result" ? null : <DetailsPane />}
    </>
  )
}

/** Follows the run; its own source is drawn, as it was when the run began. */
async function open(run_id: string): Promise<void> {
  const run = new ShownRun(await requestOf(run_id), Date.now())
  run.run_id = run_id
  run.isOpened = true
  graphOf.value = "run"
  resume(run, run_id)
  announce("The run is open beside the list.")
}

async function requestOf(run_id: string): Promise<ShownRun["request"]> {
  try {
    const { source, input, options, workflow, version } = await client().runRequest(run_id)
    const ranAs = workflow === null || version === null ? {} : { ranAs: { workflow, version } }
    return { ...unknownRequest, name: workflow ?? `Run ${run_id.slice(0, 6)}`, source, input, options, ...ranAs }
  } catch {
    // The stream of the run says what is wrong with it.
    return unknownRequest
  }
}
