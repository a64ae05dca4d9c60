import { useEffect, useRef, useState } from "preact/hooks"
import { examples, loadExamples, openExample } from "../examples/examples.ts"
import { reconnect } from "../run/follow-run.ts"
import { requestCancel } from "../run/request-cancel.ts"
import { requestRerun, requestRun } from "../run/request-run.ts"
import { changedSteps, hasChanges, isRetry } from "../shown-run/changes.ts"
import { expectedOfAll } from "../history/expected.ts"
import { expectedSentence } from "../history/ranges.ts"
import { statusOf } from "../shown-run/run-status.ts"
import { openShare } from "../share/sharing.ts"
import type { Theme } from "../page/layout.ts"
import { narrow, theme } from "../page/layout.ts"
import { loadServerWorkflows, served, serverWorkflows } from "../service/served.ts"
import { fileName } from "../files/files.ts"
import { openServed } from "../files/open-workflow.ts"
import { baseUrl } from "../service/service.ts"
import { runClock, watchLive, watchShown } from "../shown-run/shown-run.ts"
import { openQuestions, showQuestions } from "../questions/open-questions.ts"
import { standing, standingWords } from "../shown-run/standing.ts"
import { openHelp } from "./help-dialog.tsx"
import { Icon } from "../ui/icon.tsx"
import { Menu } from "../ui/menu.tsx"
import { counted, showDuration } from "../ui/show.ts"
import { StateMark } from "../ui/state-mark.tsx"

export function Header() {
  return (
    <header class="top-bar">
      <h1 class="wordmark">
        <Wire />
        <span class="wordmark-name">wireworks</span>
        <span class="visually-hidden"> playground</span>
      </h1>
      <Menu
        label="Open"
        search="Find a workflow or an example"
        onOpen={() => {
          void loadServerWorkflows()
          loadExamples().catch(() => {})
        }}
        items={[
          ...serverWorkflows.value.map((workflow) => ({
            label: workflow.name,
            heading: "Workflows of this server",
            detail: `${workflow.valid ? "" : "With errors. "}${workflow.description?.split("\n", 1)[0] ?? ""}`,
            checked: workflow.name === served.value?.name,
            onSelect: () => void openServed(workflow.name),
          })),
          ...examples.map(([label, detail]) => ({
            label,
            heading: "Examples",
            detail,
            checked: served.value === null && label === fileName.value,
            onSelect: () => void openExample(label),
          })),
        ]}
      >
        <span class="menu-name">Open</span>
      </Menu>
      {narrow.value ? null : <Status />}
      <div class="top-tools">
        <a
          class={narrow.value ? "button square" : "button"}
          href={`${baseUrl}/console/runs`}
          aria-label="Console"
          title="Console: all runs of this service, questions and triggers"
        >
          {narrow.value ? <Icon name="history" /> : "Console"}
        </a>
        <button type="button" class="button" onClick={openShare}>
          <Icon name="share" />
          Share
        </button>
        <button type="button" class="button square" aria-label="Help" title="Help and keys (?)" onClick={openHelp}>
          <Icon name="ask" />
        </button>
        <ThemeMenu />
        {narrow.value ? null : <RunControls />}
      </div>
    </header>
  )
}

/** The wire of the wordmark. */
function Wire() {
  return (
    <svg class="wire" viewBox="0 0 20 16" aria-hidden="true">
      <path d="M1 11c4 0 3-6 6-6s2 6 6 6 2-6 6-6" />
    </svg>
  )
}

function ThemeMenu() {
  const choices: readonly [Theme, string][] = [
    ["system", "As the system"],
    ["light", "Light"],
    ["dark", "Dark"],
  ]
  const icon = theme.value === "light" ? "sun" : theme.value === "dark" ? "moon" : "system"
  return (
    <Menu
      label="Theme"
      align="end"
      items={choices.map(([name, label]) => ({
        label,
        checked: theme.value === name,
        onSelect: () => (theme.value = name),
      }))}
    >
      <Icon name={icon} />
    </Menu>
  )
}

/** The shown run in one line. */
export function Status() {
  const run = watchShown()
  if (run === null) return <p class="status note">Ready</p>
  const { state, text } = statusOf(run)
  const started = run.state.started_at
  const elapsed =
    !run.isOver && started !== null ? ` ${showDuration(Math.floor((runClock.value - started) / 100) * 100)}` : ""
  // On a telephone the count of questions says it all.
  const isCounted = narrow.value && state === "asking" && openQuestions.value.length > 0
  return (
    <p class={standing.value === "current" ? "status" : "status of-other-text"}>
      <OpenQuestions />
      {isCounted ? null : <StateMark state={state} text={text.replace(/^running/, `running${elapsed}`)} />}
      {standing.value === "current" ? null : <span class="note">{standingWords(standing.value)}</span>}
      {run.connection === "lost" ? (
        <button type="button" class="button outlined" onClick={() => reconnect(run)}>
          Connect again
        </button>
      ) : null}
    </p>
  )
}

/** How many questions wait for an answer; brings them into view. */
function OpenQuestions() {
  const { length } = openQuestions.value
  if (length === 0) return null
  return (
    <button type="button" class="button question-count is-asking" onClick={showQuestions}>
      <Icon name="asking" />
      {counted(length, "question")}
    </button>
  )
}

const isApple = /Mac|iPhone|iPad/.test(navigator.platform)

/** So long after a run was asked for it cannot be cancelled: the second click of a double click cancels nothing. */
const cancellableAfterMs = 600

/** Cancel and Run each have a place of their own, whatever the run does: neither ever appears under the pointer in place of the other. */
export function RunControls() {
  const isLive = watchLive() !== null
  return (
    <>
      <CancelButton />
      {narrow.value ? null : <RunChanges />}
      <button
        type="button"
        class="button primary run-button"
        aria-keyshortcuts="Control+Enter Meta+Enter"
        // Not `disabled`, which would take the focus away.
        aria-disabled={isLive}
        onClick={requestRun}
      >
        <Icon name="play" />
        Run
        <kbd aria-hidden="true">{isApple ? "⌘⏎" : "Ctrl ⏎"}</kbd>
      </button>
    </>
  )
}

function CancelButton() {
  const run = watchLive()
  const isReady = useElapsed(run?.asked_at, cancellableAfterMs)
  const isCancelling = run?.cancelling === true
  return (
    <button
      type="button"
      class={run === null ? "button outlined cancel-button is-away" : "button outlined cancel-button"}
      title={isCancelling ? "Stop waiting for the service to confirm it" : undefined}
      aria-disabled={!isReady}
      onClick={() => {
        if (run !== null && isReady) requestCancel(run)
      }}
    >
      <Icon name="stop" />
      {isCancelling ? "Stop waiting" : "Cancel"}
    </button>
  )
}

/** Whether so much time has passed since a moment. */
function useElapsed(since: number | undefined, ms: number): boolean {
  const [, redraw] = useState(0)
  const left = since === undefined ? undefined : since + ms - Date.now()
  useEffect(() => {
    if (left === undefined || left <= 0) return undefined
    const timer = setTimeout(() => redraw((count) => count + 1), left)
    return () => clearTimeout(timer)
  }, [since])
  return left !== undefined && left <= 0
}

/** While a run goes on its place stays, where it had one. */
function RunChanges() {
  const isLive = watchLive() !== null
  const shown = useRef<number | null>(null)
  if (!isLive) shown.current = changedSteps.value
  const count = shown.current
  if (count === null) return null
  const isAble = !isLive && hasChanges.value
  const ghost = isAble ? expectedOfAll.value : null
  return (
    <button
      type="button"
      class={isLive || (count === 0 && !isAble) ? "button outlined run-changes is-away" : "button outlined run-changes"}
      aria-disabled={!isAble}
      title={
        isAble
          ? `Runs the steps with a dot in the graph, and takes the results of the others over from the last run${ghost === null ? "" : `. ${expectedSentence(ghost)}, one after the other`}`
          : undefined
      }
      onClick={() => {
        if (isAble) requestRerun()
      }}
    >
      {count === 0
        ? "Run the changed output"
        : isRetry.value
          ? "Retry failed steps"
          : `Run ${counted(count, "changed step")}`}
    </button>
  )
}
