import { DetailsPane } from "../details/details-pane.tsx"
import { EditorPane } from "../editor/editor-pane.tsx"
import { RenameDialog } from "../editor/rename-dialog.tsx"
import { InputsPane } from "../form/inputs-pane.tsx"
import { GraphPane } from "../graph/graph-pane.tsx"
import { graphHeightAfterRun } from "../graph/graph-model.ts"
import { ConfirmDialog } from "../share/confirm-dialog.tsx"
import type { PaneTab } from "../page/layout.ts"
import { isAtUsual, narrow, paneTab, positions, resultTab, wide } from "../page/layout.ts"
import { shownRun, watchShown, watchWhole } from "../shown-run/shown-run.ts"
import { selection } from "../shown-run/selection.ts"
import { openQuestions } from "../questions/open-questions.ts"
import { announcement } from "../page/notices.ts"
import { editCopy, served } from "../service/served.ts"
import { errorCount, linkHasRun, origin } from "../language/source.ts"
import { PartPanel, PartTabs } from "./part-tabs.tsx"
import { CloseDialog, FileTabs } from "./file-tabs.tsx"
import { PaneDivider } from "./pane-divider.tsx"
import { Icon } from "../ui/icon.tsx"
import { openDialogs } from "../ui/dialog.tsx"
import { Notices } from "../ui/notices.tsx"
import { Tabs } from "../ui/tabs.tsx"
import { Header, RunControls, Status } from "./header.tsx"
import { HelpDialog } from "./help-dialog.tsx"
import { KeyDialog } from "./key-dialog.tsx"
import { LaterDialogs } from "./later-dialogs.tsx"
import { Palette } from "./palette.tsx"
import { Problems } from "./problems.tsx"
import { ResultsPane } from "./results-pane.tsx"
import { SkipLinks } from "./skip-links.tsx"

export function App() {
  return (
    <>
      <SkipLinks />
      <Header />
      <Panes />
      {openDialogs.value === 0 ? <Notices /> : null}
      {narrow.value ? (
        <footer class="thumb-bar">
          <Status />
          <RunControls />
        </footer>
      ) : null}
      <p class="visually-hidden" role="status" aria-live="polite">
        {announcement.value}
      </p>
      <HelpDialog />
      <Palette />
      <ConfirmDialog />
      <KeyDialog />
      <LaterDialogs />
      <RenameDialog />
      <CloseDialog />
    </>
  )
}

const paneTabs: readonly { readonly name: PaneTab; readonly label: string }[] = [
  { name: "editor", label: "Editor" },
  { name: "input", label: "Input" },
  { name: "graph", label: "Graph" },
  { name: "results", label: "Results" },
]

/** Height of the graph. After a run the answer gets the room that a small graph does not need, unless the divider was moved. */
function rightShare(): string {
  const share = `${positions.value.right}%`
  if (!isAtUsual("right")) return share
  // People who are asked read the question, not the graph.
  if (resultTab.value === "questions" && openQuestions.value.length > 0) return "24%"
  const needed = watchWhole()?.isOver === true ? graphHeightAfterRun.value : null
  return needed === null ? share : `min(${share}, ${needed}px)`
}

/** All panes side by side where there is room, else one at a time. The editor is never taken down: it holds the text. */
function Panes() {
  const all = wide.value
  const tab = paneTab.value
  const { columns, left } = positions.value
  const shows = (name: PaneTab): boolean => all || tab === name
  const panel = (name: PaneTab) =>
    all ? {} : { role: "tabpanel" as const, id: `panes-${name}-panel`, "aria-labelledby": `panes-${name}-tab` }
  return (
    <main class={all ? "panes wide" : "panes"} style={{ "--columns": `${columns}%` }}>
      {all ? null : (
        <Tabs<PaneTab>
          label="Panes"
          id="panes"
          current={tab}
          onSelect={(name) => (paneTab.value = name)}
          items={paneTabs.map((item) => ({
            ...item,
            count: item.name === "editor" ? errorCount.value : undefined,
            wrong: item.name === "editor",
          }))}
        />
      )}
      <div class="side" style={{ "--share": `${left}%` }} hidden={!shows("editor") && !shows("input")}>
        <div class="cell" hidden={!shows("editor")} {...panel("editor")}>
          <section class="pane" aria-label="Editor">
            {origin.value === "link" && !linkHasRun.value ? (
              <p class="origin">
                <Icon name="share" />
                This workflow came {shownRun.value?.isOpened === true ? "with a run" : "by a link"}. Before its first
                run you will see which hosts it calls.
              </p>
            ) : null}
            {served.value === null ? null : (
              <p class="origin served">
                <Icon name="share" />
                <span>
                  The server's workflow <strong>{served.value.name}</strong>, version {served.value.version}.
                </span>
                <button type="button" class="button outlined" onClick={editCopy}>
                  Edit a copy
                </button>
              </p>
            )}
            <FileTabs>
              <PartTabs />
              <PartPanel>
                <EditorPane />
              </PartPanel>
            </FileTabs>
            {all ? null : <Problems />}
          </section>
        </div>
        {all ? <PaneDivider name="left" label="Height of the editor" direction="rows" /> : null}
        <div class="cell" hidden={!shows("input")} {...panel("input")}>
          <InputsPane />
        </div>
        {all ? <Problems /> : null}
      </div>
      {all ? <PaneDivider name="columns" label="Width of the editor" direction="columns" /> : null}
      <div class="side" style={{ "--share": rightShare() }} hidden={!shows("graph") && !shows("results")}>
        {shows("graph") ? (
          <div class="cell" {...panel("graph")}>
            <GraphPane />
            {!all && (watchShown() !== null || selection.value !== null) ? <DetailsPane /> : null}
          </div>
        ) : null}
        {all ? <PaneDivider name="right" label="Height of the graph" direction="rows" /> : null}
        {shows("results") ? (
          <div class="cell" {...panel("results")}>
            <ResultsPane />
          </div>
        ) : null}
      </div>
    </main>
  )
}
