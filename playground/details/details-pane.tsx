import { showType } from "../../src/types/show-type.ts"
import type { NodeState } from "../../src/log/run-state.ts"
import { figuresOf, nodeStatus } from "../shown-run/node-status.ts"
import { Fault } from "../output/fault.tsx"
import type { RunView } from "../shown-run/run-view.ts"
import { editor } from "../files/editor-port.ts"
import { paneTab } from "../page/layout.ts"
import { runClock, watchShown } from "../shown-run/shown-run.ts"
import type { Selection } from "../shown-run/selection.ts"
import { select, selectedSpan, selection, showsAnswer } from "../shown-run/selection.ts"
import { compilation } from "../language/source.ts"
import { spanLabel } from "../../src/log/span-names.ts"
import { standing } from "../shown-run/standing.ts"
import { Icon } from "../ui/icon.tsx"
import { StateMark } from "../ui/state-mark.tsx"
import { requestRerun } from "../run/request-run.ts"
import { earlierRun } from "../shown-run/changes.ts"
import { Answer, AnswerLine } from "./answer.tsx"
import { Part, Value } from "./part.tsx"
import { errorAfter } from "./rebuilt-request.ts"
import { Condition } from "./condition.tsx"
import { SpanDetails } from "./span-details.tsx"
import { Waiting } from "./waiting.tsx"

/** Everything about what is selected; the result while nothing is. */
export function DetailsPane() {
  const chosen = selection.value
  const run = watchShown()
  return (
    <section class={standing.value === "current" ? "pane details" : "pane details of-other-text"} aria-label="Details">
      {chosen === null || showsAnswer.value ? (
        <Answer />
      ) : (
        <>
          <Chosen run={run} chosen={chosen} />
          <AnswerLine shownError={run === null ? undefined : errorOf(run, chosen)} />
        </>
      )}
    </section>
  )
}

/** The error that the details of a step show. */
function errorOf({ state }: RunView, chosen: Selection): string | undefined {
  const { node } = chosen
  const at = selectedSpan(state, chosen)
  const error =
    at === undefined
      ? state.nodes.find(({ id }) => id === node)?.error
      : (state.spans[at]?.error ?? errorAfter(state, at))
  return error?.message
}

interface ChosenProps {
  readonly run: RunView | null
  readonly chosen: Selection
}

function Chosen({ run, chosen }: ChosenProps) {
  watchShown()
  const { node } = chosen
  const state = run?.state.nodes.find(({ id }) => id === node)
  const spanAt = run === null ? undefined : selectedSpan(run.state, chosen)
  const span = spanAt === undefined ? undefined : run?.state.spans[spanAt]
  const title = span === undefined ? node : spanLabel(span)
  return (
    <>
      <header class="details-head">
        <h2>{title}</h2>
        <button type="button" class="button square" aria-label="Close details" onClick={() => select(null)}>
          <Icon name="close" />
        </button>
      </header>
      {/* Another step begins at its top. */}
      <div key={spanAt ?? node} class="scrolls padded details-body">
        <div class="details-tools">
          <JumpToSource node={node} />
          <RunFromHere node={node} />
        </div>
        {run !== null && span !== undefined && spanAt !== undefined ? (
          <SpanDetails run={run} span={span} at={spanAt} node={state} />
        ) : state !== undefined && run !== null ? (
          <NodeDetails run={run} node={state} />
        ) : (
          <Declared node={node} />
        )}
        {run === null ? null : <Waiting run={run} chosen={chosen} />}
      </div>
    </>
  )
}

function JumpToSource({ node }: { readonly node: string }) {
  const place = compilation.value.steps.get(node)?.span
  if (place === undefined) return null
  const { line } = compilation.value.lines.position(place.start)
  return (
    <button
      type="button"
      class="button outlined jump"
      onClick={() => {
        paneTab.value = "editor"
        requestAnimationFrame(() => editor()?.reveal({ start: place.start, end: place.start }))
      }}
    >
      <Icon name="jump" />
      Source, line {line}
    </button>
  )
}

/** Runs the step and all that follows from it; what comes before is taken over from the last run. */
function RunFromHere({ node }: { readonly node: string }) {
  if (earlierRun.value === null || node === "" || node === "output") return null
  return (
    <button type="button" class="button outlined" onClick={() => requestRerun([node])}>
      <Icon name="play" />
      Run from here
    </button>
  )
}

/** Details of a step that has not run: its declaration. */
function Declared({ node }: { readonly node: string }) {
  const { type, doc, condition } = compilation.value.steps.get(node) ?? {}
  return (
    <>
      {doc === undefined ? null : <p>{doc}</p>}
      {type === undefined ? null : (
        <Part title="Type">
          <code class="wraps">{showType(type, 400)}</code>
        </Part>
      )}
      <Condition when={condition} state="waiting" failed={false} />
      <p class="hint-text">It has not run yet.</p>
    </>
  )
}

function NodeDetails({ run, node }: { readonly run: RunView; readonly node: NodeState }) {
  watchShown()
  const status = nodeStatus(node, run.known, run.state.finished_at !== null ? 0 : runClock.value)
  return (
    <>
      <p>
        <StateMark state={status.state} text={status.word} /> <span class="note">{figuresOf(status)}</span>
      </p>
      <Condition when={node.when} state={status.state} failed={node.error !== null} />
      {node.error === null ? null : <Fault error={node.error} />}
      {node.kind === "output" && run.state.status === "completed" ? (
        <Value title="Output" value={run.state.output} />
      ) : null}
    </>
  )
}
