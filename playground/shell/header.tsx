import { examples, loadExamples, openExample } from "../examples/examples.ts"
import { cancelRun, reconnect } from "../run/follow-run.ts"
import { requestRerun, requestRun } from "../run/request-run.ts"
import { earlierRun } from "../state/changes.ts"
import { statusOf } from "../state/status.ts"
import { openShare } from "../share/share-dialog.tsx"
import type { Theme } from "../state/layout.ts"
import { narrow, theme } from "../state/layout.ts"
import { loadServerWorkflows, served, serverWorkflows } from "../state/served.ts"
import { fileName } from "../state/files.ts"
import { openServed } from "../state/open-workflow.ts"
import { runClock, watchLive, watchShown } from "../state/runs.ts"
import { openQuestions, showQuestions } from "../state/questions.ts"
import { standing, standingWords } from "../state/standing.ts"
import { Icon } from "../ui/icon.tsx"
import { Menu } from "../ui/menu.tsx"
import { counted, showDuration } from "../ui/show.ts"
import { StateMark } from "../ui/state-mark.tsx"

export function Header() {
  return (
    <header class="top-bar">
      <h1 class="wordmark">
        <Wire />
        wireworks
        <span class="visually-hidden"> playground</span>
      </h1>
      <Menu
        label="Examples"
        onOpen={() => {
          void loadServerWorkflows()
          loadExamples().catch(() => {})
        }}
        items={[
          ...serverWorkflows.value.map((workflow) => ({
            label: workflow.name,
            detail: `On this server${workflow.valid ? "" : ", with errors"}. ${workflow.description?.split("\n", 1)[0] ?? ""}`,
            checked: workflow.name === served.value?.name,
            onSelect: () => void openServed(workflow.name),
          })),
          ...examples.map(([label, detail]) => ({
            label,
            detail,
            checked: served.value === null && label === fileName.value,
            onSelect: () => void openExample(label),
          })),
        ]}
      >
        <span class="menu-name">Examples</span>
      </Menu>
      {narrow.value ? null : <Status />}
      <div class="top-tools">
        <button type="button" class="button" onClick={openShare}>
          <Icon name="share" />
          Share
        </button>
        <ThemeMenu />
        {narrow.value ? null : <RunButton />}
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

export function RunButton() {
  const run = watchLive()
  if (run !== null) {
    return (
      <button
        type="button"
        class="button outlined run-button"
        title={run.cancelling ? "Stop waiting for the service to confirm it" : undefined}
        onClick={() => void cancelRun(run)}
      >
        <Icon name="stop" />
        {run.cancelling ? "Stop waiting" : "Cancel"}
      </button>
    )
  }
  return (
    <>
      <button
        type="button"
        class="button primary run-button"
        aria-keyshortcuts="Control+Enter Meta+Enter"
        onClick={requestRun}
      >
        <Icon name="play" />
        Run
        <kbd aria-hidden="true">{isApple ? "⌘⏎" : "Ctrl ⏎"}</kbd>
      </button>
      {earlierRun.value === null || narrow.value ? null : (
        <button
          type="button"
          class="button outlined run-changes"
          title="Takes over what did not change since the last run"
          onClick={() => requestRerun()}
        >
          Run changes
        </button>
      )}
    </>
  )
}
