import { useMemo } from "preact/hooks"
import type { Question, ShownMessages } from "../../src/log/events.ts"
import type { NodeState, Span } from "../../src/log/run-state.ts"
import { visibleLines } from "../../src/base/visible-text.ts"
import { planOf } from "../shown-run/changes.ts"
import { spanState } from "../shown-run/step-state.ts"
import { WrittenSoFar } from "../output/being-written.tsx"
import { Fault } from "../output/fault.tsx"
import type { RunView } from "../shown-run/run-view.ts"
import { textKey } from "../shown-run/run-view.ts"
import { runClock, watchShown } from "../shown-run/shown-run.ts"
import { goToQuestion } from "../questions/open-questions.ts"
import { select } from "../shown-run/selection.ts"
import { nodeOfSpan, spanLabel } from "../../src/log/span-names.ts"
import { traceInstruction } from "../../src/origins/trace-request.ts"
import { tracedProgram } from "../trace/traced-program.ts"
import { TracedText } from "../trace/traced-text.tsx"
import { Icon } from "../ui/icon.tsx"
import { showDuration, showNumber } from "../ui/show.ts"
import { StateMark } from "../ui/state-mark.tsx"
import { ChangeResult } from "./change-result.tsx"
import { ModelCall } from "./model-call.tsx"
import { Rejections } from "./rejections.tsx"
import { Part, Value } from "./part.tsx"
import { Condition } from "./condition.tsx"
import { Facts } from "./facts.tsx"
import { Inside } from "./inside.tsx"
import { sentRequest } from "./sent-request.ts"
import { SentRequest } from "./sent-request.tsx"

interface SpanDetailsProps {
  readonly run: RunView
  readonly span: Span
  readonly at: number
  readonly node: NodeState | undefined
}

/** Everything about one span of a run. */
export function SpanDetails({ run, span, at, node }: SpanDetailsProps) {
  watchShown()
  const state = spanState(span, run.known)
  const live = span.end === null
  const time = (span.end ?? Math.max(runClock.value, span.start)) - span.start
  const isStep = span.kind === "agent" || span.kind === "iteration"
  const step = span.parent === null || isStep ? undefined : run.state.spans[span.parent]
  const isCutOff = span.call?.cut_off === true
  const result = span.output ?? (span.kind === "ask" ? questionOfSpan(run, span)?.answer : undefined)
  const text = isStep || isCutOff ? run.texts.get(textKey(span.name, span.iteration))?.text : undefined
  return (
    <>
      <p class="details-state">
        <StateMark state={state} />{" "}
        {state === "asking" || state === "waiting" || state === "reused" ? null : (
          <span class="note">{showDuration(time)}</span>
        )}
        {step === undefined ? null : <span class="note"> of {spanLabel(step)}</span>}
      </p>
      {span.parent === null || span.kind === "iteration" ? (
        <Condition when={node?.when} state={state} failed={span.error !== undefined} />
      ) : null}
      {span.error === undefined ? null : <Fault error={span.error} />}
      {span.kind === "loop" ? <Iterations run={run} at={at} node={node} /> : null}
      {span.kind === "iteration" ? <Neighbours run={run} span={span} at={at} /> : null}
      {span.reason === undefined || span.requirements !== undefined ? null : (
        <Part title="Reason" copy={span.reason}>
          <p class="wraps" dir="auto">
            {span.reason}
          </p>
        </Part>
      )}
      <Facts span={span} node={node} />
      {span.logs === undefined ? null : (
        <Part title="Console" copy={span.logs}>
          <pre class="wraps" dir="auto">
            {visibleLines(span.logs)}
          </pre>
        </Part>
      )}
      {span.instruction === undefined ? null : (
        <Part title="Instruction, as rendered" copy={span.instruction}>
          <Instruction run={run} span={span} text={span.instruction} />
        </Part>
      )}
      {text === undefined ? null : (
        <Part title={live ? "Being written" : "Written before it was cut off"}>
          <WrittenSoFar text={text} label="Written so far" />
        </Part>
      )}
      {span.kind === "ask" ? <Asked question={questionOfSpan(run, span)} /> : null}
      {span.kind === "tool_call" && span.end !== null ? <Sent run={run} span={span} /> : null}
      {span.arguments === undefined ? null : <Value title="Arguments" value={span.arguments} />}
      {span.result === undefined ? null : (
        <Value title={span.kind === "compaction" ? "Summary" : "Result"} value={span.result} />
      )}
      {span.requirements === undefined ? null : (
        <Rejections run={run} agent={span.name} rejections={span.requirements} />
      )}
      {span.answer === undefined ? null : <Value title="Answer, rejected" value={span.answer} />}
      {span.messages === undefined ? null : <Messages messages={span.messages} />}
      {span.kind === "model_call" ? <ModelCall run={run} at={at} /> : null}
      {span.output === undefined ? null : (
        <Value title={span.given === true ? "Output, given" : "Output"} value={span.output} />
      )}
      {result === undefined ? null : <ChangeResult run={run} span={span} result={result} />}
      {span.scope === undefined ? null : <Inside run={run} scope={span.scope} />}
      {isStep || span.kind === "dynamic" ? <Calls run={run} at={at} /> : null}
    </>
  )
}

/** The rendered instruction, with the origin of each of its parts where the source of the run is known. */
function Instruction({ run, span, text }: { readonly run: RunView; readonly span: Span; readonly text: string }) {
  const pieces = useMemo(() => {
    const traced = tracedProgram(run)
    return traced === null ? null : traceInstruction(traced, run.request.input, run.state, span)
  }, [run, span, text])
  return pieces === null ? (
    <pre class="prose" dir="auto">
      {text}
    </pre>
  ) : (
    <TracedText pieces={pieces} />
  )
}

/** The request of a tool call. One that the service does not have is rebuilt, for a call of an api. */
function Sent({ run, span }: { readonly run: RunView; readonly span: Span }) {
  return (
    <SentRequest run_id={run.run_id} call_id={span.call_id} lastEvent={run.state.last_event_id}>
      <RebuiltSent run={run} span={span} />
    </SentRequest>
  )
}

/** The button copies it as a command. */
function RebuiltSent({ run, span }: { readonly run: RunView; readonly span: Span }) {
  const sent = span.http === undefined ? null : sentRequest(planOf(run), run.request.input, span)
  if (sent === null) return null
  return (
    <Part title="Request, rebuilt" copy={sent.curl}>
      <pre class="prose">{visibleLines(sent.body === null ? sent.line : `${sent.line}\n\n${sent.body}`)}</pre>
    </Part>
  )
}

/** What a prompt, or a retry, put into the conversation. */
function Messages({ messages }: { readonly messages: ShownMessages }) {
  if ("truncated" in messages) return <Value title="Messages" value={{ ...messages }} />
  return messages.map(({ role, text, images }, at) => (
    <Value key={at} title={role} value={images === undefined ? text : { text, images: [...images] }} />
  ))
}

/** The question that a span is about: of its step and item, and of a call the one that was asked then. */
function questionOfSpan({ state }: RunView, { name, iteration, call_id, server, start }: Span): Question | undefined {
  const kind = call_id === undefined ? "ask" : server === undefined ? "approval" : "elicitation"
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
        <p class="wraps" dir="auto">
          {question.question}
        </p>
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
    <Part title="Calls">
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
