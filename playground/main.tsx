import { effect } from "@preact/signals"
import { render } from "preact"
import { loadHistory } from "./state/history.ts"
import { findRunAgain, followAddress, keepAddress } from "./run/follow-run.ts"
import { requestRun } from "./run/request-run.ts"
import { App } from "./shell/app.tsx"
import { takeDroppedFiles } from "./shell/file-tabs.tsx"
import { editor } from "./state/editor-port.ts"
import { keepLayout } from "./state/layout.ts"
import { watchQuestions } from "./state/questions.ts"
import { showProblems } from "./state/quick-fixes.ts"
import { graphOf, shownRun } from "./state/runs.ts"
import { keepDraft, openDraft, openLink } from "./run/session.ts"
import { compilation } from "./state/source.ts"
import "./style/tokens.css"
import "./style/base.css"
import "./style/shell.css"
import "./style/editor.css"
import "./style/form.css"
import "./style/graph.css"
import "./style/questions.css"
import "./style/virtual-rows.css"
import "./style/timeline.css"
import "./style/events.css"
import "./style/json-tree.css"
import "./style/runs.css"
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
  if (event.defaultPrevented || !(event.ctrlKey || event.metaKey)) return
  if (document.querySelector("dialog[open]") !== null) return
  if (event.key === "Enter") requestRun()
  else if (event.key === "s") editor()?.format()
  else if (event.shiftKey && event.key.toLowerCase() === "m") showProblems()
  else return
  event.preventDefault()
})

addEventListener("hashchange", () => {
  followAddress()
  void openLink()
})
findRunAgain()
keepAddress()
watchQuestions()
void openLink()
void loadHistory()
keepDraft()
takeDroppedFiles()

effect(() => {
  const { text } = compilation.value
  const run = shownRun.peek()
  if (run !== null && run.request.source !== text && graphOf.peek() === "run") graphOf.value = "edited"
})
effect(() => {
  if (shownRun.value !== null) graphOf.value = "run"
})
