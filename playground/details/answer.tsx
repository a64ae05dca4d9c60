import { Fault } from "../output/fault.tsx"
import { OutputPane } from "../output/output-pane.tsx"
import { select } from "../shown-run/selection.ts"
import { standing, standingWords } from "../shown-run/standing.ts"
import { statusOf } from "../shown-run/run-status.ts"
import type { RunView } from "../shown-run/run-view.ts"
import { watchShown } from "../shown-run/shown-run.ts"
import { StateMark } from "../ui/state-mark.tsx"
import { stateWords } from "../ui/state-words.ts"

/** What the run gave, or why it gave nothing: shown while no step is selected. */
export function Answer() {
  const run = watchShown()
  if (run === null) {
    return (
      <p class="empty">
        The result appears here. Select a step in the graph or the timeline to see what it was asked, and what it
        answered.
      </p>
    )
  }
  return (
    <>
      <header class="details-head">
        <h2>{titleOf(run)}</h2>
        {standing.value === "current" ? null : <span class="note">{standingWords(standing.value)}</span>}
      </header>
      <OutputPane />
    </>
  )
}

function titleOf(run: RunView): string {
  if (run.state.status === "failed") return "Why it failed"
  if (run.refused === null || run.state.finished_at !== null) return "Result"
  if (run.refused.kind === "run_expired") return "Deleted"
  if (run.isMissing) return "Not found"
  if (run.events.length > 0) return "Why it was lost"
  return run.isUnanswered ? "No answer" : "Why it did not start"
}

/** The result below the details of a step: one line of it, the whole is a click away. Why a run failed is never cut. */
export function AnswerLine({ shownError }: { readonly shownError: string | undefined }) {
  const run = watchShown()
  if (run === null || !run.isOver) return null
  const { state } = statusOf(run)
  const error = run.refused ?? run.state.error
  if (error !== null && error.message !== shownError) {
    return (
      <div class="answer-fault" tabIndex={0} role="region" aria-label="Why the run failed">
        <Fault error={error} run={run} />
      </div>
    )
  }
  return (
    <button type="button" class={`button answer-line is-${state}`} onClick={() => select(null)}>
      <StateMark state={state} text={state === "completed" ? "Result" : stateWords[state]} />
      <span class="answer-preview" dir="auto">
        {previewOf(run)}
      </span>
    </button>
  )
}

/** Long enough for the widest column. */
const maxShown = 300

function previewOf({ refused, state }: RunView): string {
  const error = refused ?? state.error
  if (error !== null) return error.message
  if (state.status !== "completed") return ""
  const { output } = state
  const fields = typeof output === "object" && output !== null && !Array.isArray(output) ? Object.values(output) : []
  // A single text is read as it is; anything else as JSON.
  const text = fields.length === 1 && typeof fields[0] === "string" ? fields[0] : JSON.stringify(output)
  return text.slice(0, maxShown)
}
