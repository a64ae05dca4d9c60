import { openShare } from "../share/sharing.ts"
import { cancelRun } from "../run/follow-run.ts"
import { requestRerun, requestRun } from "../run/request-run.ts"
import { canBeTest, downloadTest } from "../output/test-file.ts"
import { hasChanges } from "../shown-run/changes.ts"
import { shownEditor } from "../files/editor-port.ts"
import { newFile } from "../files/files.ts"
import type { PaneTab, ResultTab } from "../page/layout.ts"
import { paneTab, resultTab, theme } from "../page/layout.ts"
import { showProblems } from "../editor/quick-fixes.ts"
import { liveRun, shownRun } from "../shown-run/shown-run.ts"
import { editCopy, served } from "../service/served.ts"
import { examples, openExample } from "../examples/examples.ts"
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
  ["runs", "Runs of this server"],
  ["triggers", "Triggers of this server"],
]

function showResults(tab: ResultTab): void {
  paneTab.value = "results"
  resultTab.value = tab
}

function showPane(tab: PaneTab): void {
  paneTab.value = tab
}

/** All that can be done now. */
export function commands(): Command[] {
  const live = liveRun.value
  const shown = shownRun.value
  return [
    ...(live === null
      ? [{ name: "Run", keys: "Ctrl Enter", run: requestRun }]
      : [{ name: "Cancel the run", run: () => void cancelRun(live) }]),
    ...(hasChanges.value ? [{ name: "Run the changed steps", run: () => requestRerun() }] : []),
    { name: "Format the source", keys: "Ctrl S", run: () => shownEditor()?.format() },
    { name: "Show the problems", keys: "Ctrl Shift M", run: showProblems },
    { name: "New file", run: newFile },
    { name: "Add a file to this workflow", run: askForPart },
    ...(served.value === null ? [] : [{ name: "Edit a copy of the server's workflow", run: editCopy }]),
    { name: "Share, or copy as code", run: openShare },
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
    ...tabs.map(([tab, label]) => ({ name: `Show: ${label}`, run: () => showResults(tab) })),
    ...examples.map(([label]) => ({ name: `Open the example ${label}`, run: () => void openExample(label) })),
    { name: "Theme: light", run: () => (theme.value = "light") },
    { name: "Theme: dark", run: () => (theme.value = "dark") },
    { name: "Theme: as the system", run: () => (theme.value = "system") },
    { name: "Help and keys", keys: "?", run: openHelp },
  ]
}
