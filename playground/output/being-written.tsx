import { showQuestions } from "../questions/open-questions.ts"
import type { RunView } from "../shown-run/run-view.ts"
import { textKey } from "../shown-run/run-view.ts"
import { watchShown } from "../shown-run/shown-run.ts"
import { waitingText } from "../shown-run/run-status.ts"
import { Icon } from "../ui/icon.tsx"
import { JsonTree } from "../values/json-tree.tsx"
import { counted, showNumber } from "../ui/show.ts"
import { StateMark } from "../ui/state-mark.tsx"
import { partialJson } from "./partial-json.ts"

/** Only the end of a longer text is shown until it is complete. */
const maxRead = 60_000

/** A run under way: the text of the step that writes, field by field as it comes, else which steps run. */
export function BeingWritten({ run }: { readonly run: RunView }) {
  watchShown()
  const [first] = run.texts.values()
  if (run.state.status === "waiting") return <Waiting run={run} />
  if (first === undefined) return <Running run={run} />
  const step = `agent.${textKey(first.agent, first.iteration)}`
  const others = run.texts.size - 1
  return (
    <div class="scrolls padded written" tabIndex={0} role="region" aria-label={`${step}, so far`}>
      <p>
        <StateMark state="running" text={step} />
        {others === 0 ? null : <span class="note"> and {showNumber(others)} more</span>}
      </p>
      <WrittenSoFar key={step} text={first.text} label={`${step}, so far`} />
    </div>
  )
}

/** More texts than this are a click away, in the timeline. */
const maxTexts = 10

/** What each step had written when the run was cancelled. */
export function TextsSoFar({ run }: { readonly run: RunView }) {
  return [...run.texts].slice(0, maxTexts).map(([key, { text }]) => (
    <section key={key} class="part">
      <p>
        <StateMark state="cancelled" text={`agent.${key}, cut off`} />
      </p>
      <WrittenSoFar text={text} label={`agent.${key}, cut off`} />
    </section>
  ))
}

/** Text that is still coming: the fields that are there so far, where it is JSON. */
export function WrittenSoFar({ text, label }: { readonly text: string; readonly label: string }) {
  const value = text.length > maxRead ? undefined : partialJson(text)
  if (value !== undefined) return <JsonTree value={value} label={label} open={4} />
  return (
    <>
      <pre class="prose" dir="auto">
        {text.slice(-maxRead)}
      </pre>
      {text.length > maxRead ? <p class="note">{counted(text.length, "character")} so far</p> : null}
    </>
  )
}

function Running({ run }: { readonly run: RunView }) {
  const running = run.state.nodes.filter(({ state }) => state === "running").map(({ id }) => id)
  const shown = running.slice(0, 3).join(", ")
  const more = running.length > 3 ? ` and ${running.length - 3} more` : ""
  return (
    <p class="empty">
      {!run.hasConnected
        ? "The service has not answered yet."
        : running.length === 0
          ? "The run is under way; its result appears here."
          : `Running: ${shown}${more}.`}
    </p>
  )
}

function Waiting({ run }: { readonly run: RunView }) {
  const asksPeople = run.state.questions.some(({ status }) => status === "open")
  return (
    <div class="empty">
      <p>
        <StateMark state="asking" text={waitingText(run)} />
      </p>
      {asksPeople ? (
        <>
          <p>The result appears here once people have answered.</p>
          <button type="button" class="button outlined" onClick={showQuestions}>
            <Icon name="asking" />
            Go to the questions
          </button>
        </>
      ) : (
        <p>The result appears here once the run has gone on.</p>
      )}
    </div>
  )
}
