import { showType } from "../../src/types/show-type.ts"
import type { Question, ShownMessages, Usage } from "../../src/ports/events.ts"
import type { NodeState, Span } from "../../src/run/run-state.ts"
import { nodeSpan } from "../state/node-span.ts"
import { figuresOf, nodeStatus } from "../state/node-status.ts"
import { retriesOf, spanState } from "../state/step-state.ts"
import { WrittenSoFar } from "../output/being-written.tsx"
import { Fault } from "../output/fault.tsx"
import type { RunView } from "../state/run-view.ts"
import { textKey } from "../state/run-view.ts"
import { editor } from "../state/editor-port.ts"
import { paneTab } from "../state/layout.ts"
import { runClock, watchShown } from "../state/runs.ts"
import { goToQuestion } from "../state/questions.ts"
import type { Selection } from "../state/selection.ts"
import { select, selectedSpan, selection, showsAnswer } from "../state/selection.ts"
import { compilation } from "../state/source.ts"
import { nodeOfSpan, spanLabel } from "../state/spans.ts"
import { standing } from "../state/standing.ts"
import { Icon } from "../ui/icon.tsx"
import { costNumber, showDuration, showNumber } from "../ui/show.ts"
import { StateMark } from "../ui/state-mark.tsx"
import { Answer, AnswerLine } from "./answer.tsx"
import { ModelCall } from "./model-call.tsx"
import { Part, Value } from "./part.tsx"
import { errorAfter } from "./rebuilt-request.ts"
import type { StateName } from "../ui/state-words.ts"

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
        <JumpToSource node={node} />
        {run !== null && span !== undefined && spanAt !== undefined ? (
          <SpanDetails run={run} span={span} at={spanAt} node={state} />
        ) : state !== undefined && run !== null ? (
          <NodeDetails run={run} node={state} />
        ) : (
          <Declared node={node} />
        )}
      </div>
    </>
  )
}

function JumpToSource({ node }: { readonly node: string }) {
  const place = nodeSpan(compilation.value.program, node)
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

/** What is known of a step that has not run. */
function Declared({ node }: { readonly node: string }) {
  const { program } = compilation.value
  const name = node.slice(node.indexOf(".") + 1)
  const step = node.startsWith("agent.")
    ? program.agents.get(name)
    : node.startsWith("ask.")
      ? program.asks.get(name)
      : undefined
  const type =
    step !== undefined ? step.type : node === "output" ? program.output?.type : program.dynamics.get(name)?.type
  const doc = step?.declaration.doc
  const when = step?.declaration.when?.condition
  const condition = when && program.tree.text.slice(when.start, when.end)
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

interface ConditionProps {
  readonly when: string | undefined
  readonly state: StateName
  /** It has run, and failed for good. */
  readonly failed: boolean
}

/** The condition of a step, and why it was skipped. */
function Condition({ when, state, failed }: ConditionProps) {
  return (
    <>
      {when === undefined ? null : (
        <Part title="Condition">
          <code class="wraps">{when}</code>
        </Part>
      )}
      {state !== "skipped" ? null : (
        <p class="hint-text">
          {failed
            ? "It failed, and `on_failure: skip` lets the run go on."
            : "The condition was false, so it did not run."}
        </p>
      )}
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

interface SpanDetailsProps {
  readonly run: RunView
  readonly span: Span
  readonly at: number
  readonly node: NodeState | undefined
}

function SpanDetails({ run, span, at, node }: SpanDetailsProps) {
  watchShown()
  const state = spanState(span, run.known)
  const live = span.end === null
  const time = (span.end ?? Math.max(runClock.value, span.start)) - span.start
  const isStep = span.kind === "agent" || span.kind === "iteration"
  const step = span.parent === null || isStep ? undefined : run.state.spans[span.parent]
  const text = isStep ? run.texts.get(textKey(span.name, span.iteration))?.text : undefined
  return (
    <>
      <p class="details-state">
        <StateMark state={state} />{" "}
        {state === "asking" || state === "reused" ? null : <span class="note">{showDuration(time)}</span>}
        {step === undefined ? null : <span class="note"> of {spanLabel(step)}</span>}
      </p>
      {span.parent === null || span.kind === "iteration" ? (
        <Condition when={node?.when} state={state} failed={span.error !== undefined} />
      ) : null}
      {span.error === undefined ? null : <Fault error={span.error} />}
      {span.kind === "loop" ? <Iterations run={run} at={at} node={node} /> : null}
      {span.kind === "iteration" ? <Neighbours run={run} span={span} at={at} /> : null}
      {span.reason === undefined ? null : (
        <Part title="Reason" copy={span.reason}>
          <p class="wraps">{span.reason}</p>
        </Part>
      )}
      <Facts span={span} node={node} />
      {span.instruction === undefined ? null : (
        <Part title="Instruction, as rendered" copy={span.instruction}>
          <pre class="prose">{span.instruction}</pre>
        </Part>
      )}
      {text !== undefined && live ? (
        <Part title="Being written">
          <WrittenSoFar text={text} label="Being written" />
        </Part>
      ) : null}
      {span.kind === "ask" ? <Asked question={questionOfSpan(run, span)} /> : null}
      {span.arguments === undefined ? null : <Value title="Arguments" value={span.arguments} />}
      {span.result === undefined ? null : (
        <Value title={span.kind === "compaction" ? "Summary" : "Result"} value={span.result} />
      )}
      {span.answer === undefined ? null : <Value title="Answer, rejected" value={span.answer} />}
      {span.messages === undefined ? null : <Messages messages={span.messages} />}
      {span.kind === "model_call" ? <ModelCall run={run} at={at} /> : null}
      {span.output === undefined ? null : <Value title="Output" value={span.output} />}
      {isStep || span.kind === "dynamic" ? <Calls run={run} at={at} /> : null}
    </>
  )
}

/** What a prompt, or a retry, put into the conversation. */
function Messages({ messages }: { readonly messages: ShownMessages }) {
  if ("truncated" in messages) return <Value title="Messages" value={{ ...messages }} />
  return messages.map(({ role, text, images }, at) => (
    <Value key={at} title={role} value={images === undefined ? text : { text, images: [...images] }} />
  ))
}

/** The question that a span is about: of its step and item, and of an approval the one that was asked then. */
function questionOfSpan({ state }: RunView, { name, iteration, call_id, start }: Span): Question | undefined {
  const kind = call_id === undefined ? "ask" : "approval"
  const same = state.questions.filter((one) => one.kind === kind && one.name === name && one.iteration === iteration)
  return same.find(({ asked_at }) => Math.abs(Date.parse(asked_at) - start) < 1000) ?? same[0]
}

/** What was asked, and what was answered. */
function Asked({ question }: { readonly question: Question | undefined }) {
  if (question === undefined) return null
  const { status, answer, answered_by } = question
  return (
    <>
      <Part title="Question" copy={question.question}>
        <p class="wraps">{question.question}</p>
      </Part>
      {status === "open" ? (
        <button type="button" class="button outlined" onClick={() => goToQuestion(question)}>
          <Icon name="asking" />
          Answer it
        </button>
      ) : null}
      {question.arguments === undefined ? null : <Value title="Arguments" value={question.arguments} />}
      {answer === undefined ? null : <Value title={`Answer${whoOf(answered_by)}`} value={answer} />}
    </>
  )
}

function whoOf(by: Question["answered_by"]): string {
  const name = by?.by ?? by?.caller
  return name === undefined || name === null ? "" : ` of ${name}`
}

function Facts({ span, node }: { readonly span: Span; readonly node: NodeState | undefined }) {
  watchShown()
  const usage = span.usage ?? (span.kind === "loop" ? node?.usage : undefined)
  const isStep = span.kind === "agent" || span.kind === "loop"
  const facts: [string, string][] = []
  if (isStep && node?.model !== undefined && node.model !== null) facts.push(["Model", node.model])
  if (span.from !== undefined) facts.push(["Failed", `model.${span.from}`])
  if (span.server !== undefined) facts.push(["Server", `mcp.${span.server}`])
  if (span.call !== undefined) {
    if (span.call.model !== undefined) facts.push(["Model", `model.${span.call.model}`])
    if (span.call.id !== undefined) facts.push(["Id", span.call.id])
    if (span.call.provider !== undefined) facts.push(["Provider", span.call.provider])
    facts.push(["Turn", String(span.call.turn)], ["Attempt", String(span.call.attempt)])
    if (span.call.format !== undefined) facts.push(["Output format", span.call.format])
  }
  if (isStep && node !== undefined && node.tool_calls > 0) facts.push(["Tool calls", showNumber(node.tool_calls)])
  const retries = isStep && node !== undefined ? retriesOf(node) : 0
  if (retries > 0) facts.push(["Retries", showNumber(retries)])
  if (usage !== undefined) facts.push(...usageFacts(usage))
  if (facts.length === 0) return null
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function usageFacts(usage: Usage): [string, string][] {
  const rows: [string, number][] = [
    ["Tokens in", usage.input_tokens],
    ["Tokens out", usage.output_tokens],
    ["of them cached", usage.cached_tokens],
    ["of them reasoning", usage.reasoning_tokens],
  ]
  const tokens = rows.filter(([, count], at) => at < 2 || count > 0)
  const shown = tokens.map(([name, count]): [string, string] => [name, showNumber(count)])
  return typeof usage.cost === "number" ? [...shown, ["Cost", costNumber(usage.cost)]] : shown
}

/** The calls and retries below a step with their reasons, each a way to its own details. */
function Calls({ run, at }: { readonly run: RunView; readonly at: number }) {
  watchShown()
  const { spans } = run.state
  const calls: number[] = []
  for (let position = at + 1; position < spans.length && calls.length < 100; position++) {
    const span = spans[position]
    if (span?.parent === at) calls.push(position)
  }
  calls.sort((one, other) => (spans[one]?.start ?? 0) - (spans[other]?.start ?? 0))
  if (calls.length === 0) return null
  return (
    <Part title="Along the way">
      <ul class="links">
        {calls.map((position) => {
          const span = spans[position]
          if (span === undefined) return null
          return (
            <li key={position}>
              <button
                type="button"
                class="button"
                onClick={() => select({ node: nodeOfSpan(run.state, position) ?? "", span: position })}
              >
                <StateMark state={spanState(span, run.known)} text={spanLabel(span)} />
                <span class="note">
                  {span.reason ?? (span.end === null ? "" : showDuration(span.end - span.start))}
                </span>
              </button>
            </li>
          )
        })}
      </ul>
    </Part>
  )
}

function Iterations({
  run,
  at,
  node,
}: {
  readonly run: RunView
  readonly at: number
  readonly node: NodeState | undefined
}) {
  watchShown()
  const loop = node?.loop
  if (loop === undefined || loop === null) return null
  const failed = run.state.spans.findIndex((span) => span.parent === at && span.state === "failed")
  const first = run.state.spans.findIndex((span) => span.parent === at)
  const go = (position: number): void => select({ node: node?.id ?? "", span: position })
  return (
    <Part title="Iterations">
      <p>
        {showNumber(loop.completed)} of {showNumber(loop.total)} done
        {loop.started > loop.completed && !run.isOver && !run.isCut
          ? `, ${showNumber(loop.started - loop.completed)} under way`
          : ""}
        .
      </p>
      {first < 0 ? null : (
        <button type="button" class="button outlined" onClick={() => go(first)}>
          Look at the first
        </button>
      )}
      {failed < 0 ? null : (
        <button type="button" class="button outlined" onClick={() => go(failed)}>
          Look at the one that failed
        </button>
      )}
    </Part>
  )
}

/** From one iteration to those before and after it. */
function Neighbours({ run, span, at }: { readonly run: RunView; readonly span: Span; readonly at: number }) {
  watchShown()
  const find = (iteration: number): number =>
    run.state.spans.findIndex(
      (other) => other.parent === span.parent && other.iteration === iteration && other.kind === "iteration",
    )
  const number = span.iteration ?? 0
  const before = number === 0 ? -1 : find(number - 1)
  const after = find(number + 1)
  const go = (position: number): void => select({ node: nodeOfSpan(run.state, at) ?? "", span: position })
  return (
    <div class="neighbours">
      <button type="button" class="button outlined" disabled={before < 0} onClick={() => go(before)}>
        <Icon name="left" />
        Previous
      </button>
      <button type="button" class="button outlined" disabled={after < 0} onClick={() => go(after)}>
        Next
        <Icon name="right" />
      </button>
    </div>
  )
}
