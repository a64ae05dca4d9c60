import { effect } from "@preact/signals"
import { render } from "preact"
import { loadHistory } from "./history/kept-runs.ts"
import { followAddress, keepAddress } from "./session/address.ts"
import { findRunAgain } from "./run/open-run.ts"
import { requestRun } from "./run/request-run.ts"
import { App } from "./shell/app.tsx"
import { openHelp } from "./shell/help-dialog.tsx"
import { openPalette } from "./shell/palette.tsx"
import { takeDroppedFiles } from "./shell/file-tabs.tsx"
import { editor } from "./files/editor-port.ts"
import { startLanguage } from "./language/ask.ts"
import { loadRest } from "./page/later.ts"
import { askedOrigin } from "./output/asked-origin.ts"
import { keepLayout, resultTab, resultTabs } from "./page/layout.ts"
import { readAddress } from "./share/link.ts"
import { watchQuestions } from "./questions/open-questions.ts"
import { showProblems } from "./editor/quick-fixes.ts"
import { fileName } from "./files/files.ts"
import { openServed } from "./files/open-workflow.ts"
import { graphOf, shownRun, watchWhole } from "./shown-run/shown-run.ts"
import { statusOf } from "./shown-run/run-status.ts"
import { keepDraft, openDraft, openLink } from "./session/session.ts"
import { compilation, hasSameFiles } from "./language/source.ts"
import "./style/tokens.css"
import "./style/base.css"
import "./style/shell.css"
import "./style/editor.css"
import "./style/files.css"
import "./style/form.css"
import "./style/graph.css"
import "./style/chat.css"
import "./style/questions.css"
import "./style/reading.css"
import "./style/virtual-rows.css"
import "./style/timeline.css"
import "./style/events.css"
import "./style/json-tree.css"
import "./style/runs.css"
import "./style/reach.css"
import "./style/trace.css"
import "./style/run-limits.css"
import "./style/details.css"

keepLayout()
openDraft()
const root = document.getElementById("app")
if (root === null) throw new Error("The page has no #app")
root.replaceChildren()
render(<App />, root)
performance.mark("wireworks-ready")

// Everywhere, not in the editor alone.
addEventListener("keydown", (event) => {
  if (event.defaultPrevented || document.querySelector("dialog[open]") !== null) return
  if (event.key === "?" && !isTyping(event)) {
    openHelp()
    event.preventDefault()
    return
  }
  if (!(event.ctrlKey || event.metaKey)) return
  if (event.key === "Enter") requestRun()
  else if (event.key === "s") editor()?.format()
  else if (event.key === "k") openPalette()
  else if (event.shiftKey && event.key.toLowerCase() === "m") showProblems()
  else return
  event.preventDefault()
})

/** The key goes into a text. */
function isTyping(event: KeyboardEvent): boolean {
  // Within the editor, which has a root of its own, too.
  const [target] = event.composedPath()
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"))
}

addEventListener("hashchange", () => {
  followAddress()
  void openLink()
})
const { tab, workflow, origin } = readAddress(location.hash)
if (origin !== undefined) askedOrigin.value = { path: origin }
if (workflow !== undefined) void openServed(workflow)
resultTab.value = resultTabs.find((name) => name === tab) ?? (origin === undefined ? resultTab.value : "output")
findRunAgain()
keepAddress()
watchQuestions()
void openLink()
void loadHistory()
keepDraft()
takeDroppedFiles()
loadRest()
startLanguage()

effect(() => {
  const { text } = compilation.value
  const run = shownRun.peek()
  if (run === null || graphOf.peek() !== "run") return
  if (run.request.source !== text || !hasSameFiles(run.request.around)) graphOf.value = "edited"
})
effect(() => {
  if (shownRun.value !== null) graphOf.value = "run"
})
// The state of the run is seen in the browser's list of tabs.
effect(() => {
  const run = watchWhole()
  const words = run === null ? "" : (/^[a-z ]+?(?= in | after | since |$| ·)/.exec(statusOf(run).text)?.[0] ?? "")
  const title = [words, fileName.value, "wireworks"].filter((part) => part !== "").join(" · ")
  if (document.title !== title) document.title = title
})
