import { tokensOf } from "../shown-run/run-status.ts"
import { useEffect, useRef, useState } from "preact/hooks"
import type { RunState, Span } from "../../src/log/run-state.ts"
import { isWithin } from "../../src/plan/call-scope.ts"
import { Fault } from "../output/fault.tsx"
import type { RunView } from "../shown-run/run-view.ts"
import { runClock } from "../shown-run/shown-run.ts"
import { selection } from "../shown-run/selection.ts"
import { nodeOfSpan, spanLabel } from "../../src/log/span-names.ts"
import { spanState } from "../shown-run/step-state.ts"
import { Icon } from "../ui/icon.tsx"
import { showDuration, showTokens } from "../ui/show.ts"
import { StateMark } from "../ui/state-mark.tsx"
import { Part, Value } from "./part.tsx"

/** More steps of a called workflow than this are in the events. */
const maxShown = 200

/** The steps of a called workflow, each with what it was asked and what it gave; calls inside open in the same way. */
export function Inside({ run, scope }: { readonly run: RunView; readonly scope: string }) {
  const state = run.state.inside?.[scope]
  if (state === undefined || state.spans.length === 0) return null
  return (
    <Part title="Inside">
      <Steps run={run} state={state} scope={scope} parent={null} />
    </Part>
  )
}

interface StepsProps {
  readonly run: RunView
  readonly state: RunState
  /** The call whose state it is. */
  readonly scope: string
  /** The position of the span whose parts are shown; null for the steps themselves. */
  readonly parent: number | null
}

function Steps({ run, state, scope, parent }: StepsProps) {
  const all = state.spans.flatMap((span, at) => (span.parent === parent ? [{ span, at }] : []))
  return (
    <ul class="inside">
      {all.slice(0, maxShown).map(({ span, at }) => (
        <Step key={at} run={run} state={state} scope={scope} span={span} at={at} />
      ))}
      {all.length > maxShown ? <li class="note">{all.length - maxShown} more, in the events</li> : null}
    </ul>
  )
}

type StepProps = Omit<StepsProps, "parent"> & { readonly span: Span; readonly at: number }

/** Whether the step that was selected in the graph of the call is this one, or inside of it. */
function isChosen({ state, scope, span, at }: StepProps): boolean {
  const inner = selection.value?.inner
  if (inner === undefined) return false
  if (inner.scope === scope) return span.parent === null && nodeOfSpan(state, at) === inner.node
  return state.spans.some((one, from) => {
    return one.scope !== undefined && isWithin(inner.scope, one.scope) && isPartOf(state, from, at)
  })
}

/** Whether a span is another one or lies in it. */
function isPartOf({ spans }: RunState, from: number, at: number): boolean {
  let part: number | null = from
  while (part !== null && part !== at) part = spans[part]?.parent ?? null
  return part === at
}

function Step(props: StepProps) {
  const { run, state, scope, span, at } = props
  const chosen = isChosen(props)
  const [isOpen, setOpen] = useState(chosen)
  const row = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (!chosen) return
    setOpen(true)
    row.current?.scrollIntoView({ block: "nearest" })
  }, [chosen, selection.value?.inner])
  const time = (span.end ?? Math.max(runClock.value, span.start)) - span.start
  const tokens = span.usage === undefined ? "" : showTokens(tokensOf(span.usage), 0, "tok")
  return (
    <li ref={row}>
      <button type="button" class="button inside-step" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name={isOpen ? "down" : "right"} />
        <StateMark state={spanState(span, run.known)} text={spanLabel(span)} />
        <span class="note">{[showDuration(time), tokens].filter((part) => part !== "").join(" · ")}</span>
      </button>
      {isOpen ? (
        <div class="inside-body">
          {span.error === undefined ? null : <Fault error={span.error} />}
          {span.instruction === undefined ? null : (
            <Part title="Instruction, as rendered" copy={span.instruction}>
              <pre class="prose" dir="auto">
                {span.instruction}
              </pre>
            </Part>
          )}
          {span.arguments === undefined ? null : <Value title="Arguments" value={span.arguments} />}
          {span.result === undefined ? null : <Value title="Result" value={span.result} />}
          {span.output === undefined ? null : <Value title="Output" value={span.output} />}
          <Steps run={run} state={state} scope={scope} parent={at} />
          {span.scope === undefined ? null : <Inside run={run} scope={span.scope} />}
        </div>
      ) : null}
    </li>
  )
}
