import { openShare } from "../share/sharing.ts"
import { requestCancel } from "../run/request-cancel.ts"
import { lookAtRun } from "../run/open-run.ts"
import { rerunsOf } from "../run/rerun-server-run.ts"
import { requestRerun, requestRun } from "../run/request-run.ts"
import { canBeTest, downloadTest } from "../output/test-file.ts"
import { earlierRun, hasChanges, isRetry } from "../shown-run/changes.ts"
import { copyText, downloadText } from "../share/copy.ts"
import { shownEditor } from "../files/editor-port.ts"
import { newFile } from "../files/files.ts"
import { openServed } from "../files/open-workflow.ts"
import type { PaneTab, ResultTab } from "../page/layout.ts"
import { paneTab, resultTab, theme } from "../page/layout.ts"
import { showProblems } from "../editor/quick-fixes.ts"
import { liveRun, shownRun } from "../shown-run/shown-run.ts"
import { selection } from "../shown-run/selection.ts"
import { openQuestions } from "../questions/open-questions.ts"
import { editCopy, served, serverWorkflows } from "../service/served.ts"
import { chatFields } from "../chat/chat.ts"
import { groups, setGroups } from "../graph/graph-model.ts"
import type { GraphPort } from "../graph/graph-port.ts"
import { shownGraph, zoomIn, zoomOut } from "../graph/graph-port.ts"
import { copyCurl } from "../details/sent-request.tsx"
import { selectedCall } from "../shown-run/selected-call.ts"
import { asksToClear, keptRuns } from "../history/kept-runs.ts"
import { compareRuns } from "../history/comparison.ts"
import { lastTwo } from "../history/since-before.tsx"
import { examples, openExample } from "../examples/examples.ts"
import { askForName, downloadFile } from "./file-tabs.tsx"
import { askForPart } from "./part-tabs.tsx"
import { openHelp } from "./help-dialog.tsx"

/** Something that can be done with the page. */
export interface Command {
  readonly name: string
  readonly keys?: string
  readonly run: () => void
}

const tabs: readonly [ResultTab, string][] = [
  ["timeline", "Timeline"],
  ["output", "Output"],
  ["events", "Events"],
  ["history", "History of this browser"],
  ["reach", "Reach of this workflow"],
]

function showResults(tab: ResultTab): void {
  paneTab.value = "results"
  resultTab.value = tab
}

function showPane(tab: PaneTab): void {
  paneTab.value = tab
}

/** The graph may have to be drawn first. */
function inGraph(act: (graph: GraphPort) => void): void {
  showPane("graph")
  requestAnimationFrame(() => {
    const graph = shownGraph()
    if (graph !== null) act(graph)
  })
}

/** All that can be done now. */
export function commands(): Command[] {
  const live = liveRun.value
  const shown = shownRun.value
  const two = lastTwo()
  const chosen = selection.value?.node ?? ""
  const step = chosen === "" || chosen === "output" ? undefined : chosen
  const run_id = shown?.run_id
  const call_id = shown === null ? undefined : selectedCall(shown.state, selection.value)
  const output = shown?.state.status === "completed" ? JSON.stringify(shown.state.output, null, 2) : undefined
  return [
    ...(live === null
      ? [{ name: "Run", keys: "Ctrl Enter", run: requestRun }]
      : [{ name: "Cancel the run", run: () => requestCancel(live) }]),
    ...(hasChanges.value
      ? [{ name: isRetry.value ? "Retry failed steps" : "Run the changed steps", run: () => requestRerun() }]
      : []),
    ...(step === undefined || earlierRun.value === null
      ? []
      : [{ name: `Run from ${step}`, run: () => requestRerun([step]) }]),
    ...(run_id === undefined || shown?.request.ranAs === undefined || !shown.isOver
      ? []
      : rerunsOf(run_id, shown.request.ranAs, lookAtRun).map(({ label, run }) => {
          return { name: `Run again: ${label.toLowerCase()}`, run }
        })),
    { name: "Format the source", keys: "Ctrl S", run: () => shownEditor()?.format() },
    { name: "Show the problems", keys: "Ctrl Shift M", run: showProblems },
    { name: "New file", run: newFile },
    { name: "Add a file to this workflow", run: askForPart },
    { name: "Rename this file", keys: "F2", run: askForName },
    { name: "Download this file", run: downloadFile },
    ...(served.value === null ? [] : [{ name: "Edit a copy of the server's workflow", run: editCopy }]),
    { name: "Share, or copy as code", run: openShare },
    ...(run_id === undefined || call_id === undefined
      ? []
      : [{ name: "Copy the selected call as curl", run: () => void copyCurl(run_id, call_id) }]),
    ...(two === null
      ? []
      : [{ name: "Compare with the run before", run: () => void compareRuns([two.before, two.now]) }]),
    ...(output === undefined
      ? []
      : [
          { name: "Copy the result", run: () => void copyText(output, "Output") },
          {
            name: "Download the result",
            run: () => downloadText(`${output}\n`, `${shown?.run_id ?? "output"}.json`, "application/json"),
          },
        ]),
    ...(shown !== null && canBeTest(shown)
      ? [{ name: "Download the shown run as a test", run: () => void downloadTest(shown) }]
      : []),
    {
      name: "Go to the source",
      run: () => {
        showPane("editor")
        shownEditor()?.focus()
      },
    },
    { name: "Go to the input", run: () => showPane("input") },
    { name: "Go to the graph", run: () => showPane("graph") },
    { name: "Zoom into the graph", keys: "+", run: () => inGraph(({ zoom }) => zoom(zoomIn)) },
    { name: "Zoom out of the graph", keys: "-", run: () => inGraph(({ zoom }) => zoom(zoomOut)) },
    { name: "Fit the graph in", keys: "0", run: () => inGraph(({ fit }) => fit()) },
    ...(groups.value.length === 0
      ? []
      : [
          { name: "Close all groups of the graph", run: () => setGroups(false) },
          { name: "Open all groups of the graph", run: () => setGroups(true) },
        ]),
    ...(chatFields.value === undefined ? [] : [{ name: "Show: Chat", run: () => showResults("chat") }]),
    ...(openQuestions.value.length === 0 ? [] : [{ name: "Show: Questions", run: () => showResults("questions") }]),
    ...tabs.map(([tab, label]) => ({ name: `Show: ${label}`, run: () => showResults(tab) })),
    ...(keptRuns.value.length === 0
      ? []
      : [
          {
            name: "Clear the history of this browser",
            run: () => {
              showResults("history")
              asksToClear.value = true
            },
          },
        ]),
    ...serverWorkflows.value.map(({ name }) => ({
      name: `Open the server's workflow ${name}`,
      run: () => void openServed(name),
    })),
    ...examples.map(([label]) => ({ name: `Open the example ${label}`, run: () => void openExample(label) })),
    { name: "Theme: light", run: () => (theme.value = "light") },
    { name: "Theme: dark", run: () => (theme.value = "dark") },
    { name: "Theme: as the system", run: () => (theme.value = "system") },
    { name: "Help and keys", keys: "?", run: openHelp },
  ]
}
