import { effect } from "@preact/signals"
import { render } from "preact"
import { keepLayout } from "../page/layout.ts"
import { App } from "./app.tsx"
import { pageLabels } from "./navigation.tsx"
import { place, watchAddress } from "./place.ts"
import "../style/tokens.css"
import "../style/base.css"
import "../style/shell.css"
import "../style/files.css"
import "../style/form.css"
import "../style/questions.css"
import "../style/virtual-rows.css"
import "../style/json-tree.css"
import "../style/runs.css"
import "../style/console.css"

keepLayout()
watchAddress()
const root = document.getElementById("app")
if (root === null) throw new Error("The page has no #app")
root.replaceChildren()
render(<App />, root)
performance.mark("wireworks-ready")
effect(() => {
  document.title = `${pageLabels[place.value.page]} · wireworks console`
})

// `/` goes to the search, wherever a person is.
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
  const [target] = event.composedPath()
  if (target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"))) return
  const search = document.querySelector<HTMLInputElement>("input[type=search]")
  if (search === null || document.querySelector("dialog[open]") !== null) return
  event.preventDefault()
  search.focus()
  search.select()
})
