import type { PaneTab } from "../page/layout.ts"
import { paneTab, resultTab } from "../page/layout.ts"
import { editor } from "../files/editor-port.ts"

/** The first stops of the Tab key: each leads past all that is before its pane. They are seen while they have the focus. */
export function SkipLinks() {
  const link = (label: string, pane: PaneTab, focus: () => void) => (
    <button
      type="button"
      class="button"
      onClick={() => {
        paneTab.value = pane
        requestAnimationFrame(focus)
      }}
    >
      {label}
    </button>
  )
  return (
    <nav class="skip-links" aria-label="Skip to a pane">
      {link("Skip to the editor", "editor", () => editor()?.focus())}
      {link("Skip to the graph", "graph", () => focusOn(".graph-view"))}
      {link("Skip to the results", "results", () => focusOn(`#results-${resultTab.value}-tab`))}
    </nav>
  )
}

function focusOn(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus()
}
