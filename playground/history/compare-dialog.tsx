import type { ComponentChildren } from "preact"
import type { JsonValue } from "../../src/base/json-value.ts"
import type { NodeState } from "../../src/log/run-state.ts"
import { figuresOf, nodeStatus } from "../shown-run/node-status.ts"
import type { RunView } from "../shown-run/run-view.ts"
import { statusOf, tokensOf } from "../shown-run/run-status.ts"
import { Dialog } from "../ui/dialog.tsx"
import { costNumber, counted, showDuration, showMoment, showNumber } from "../ui/show.ts"
import { StateMark } from "../ui/state-mark.tsx"
import type { Difference } from "./compare.ts"
import { changedSteps, differences, hasOtherInstruction, lineChanges, pairNodes, takenOver } from "./compare.ts"
import type { ComparedRuns } from "./comparison.ts"
import { comparison } from "./comparison.ts"

export function CompareDialog({ left, right }: ComparedRuns) {
  return (
    <Dialog title="Two runs side by side" wide onClose={() => (comparison.value = null)}>
      <div class="dialog-body compare" tabIndex={0} role="region" aria-label="Comparison">
        <table>
          <thead>
            <tr>
              <th scope="col">
                <span class="visually-hidden">What</span>
              </th>
              <th scope="col">{titleOf(left)}</th>
              <th scope="col">{titleOf(right)}</th>
            </tr>
          </thead>
          <tbody>
            <Pair name="State" left={<Ended run={left} />} right={<Ended run={right} />} />
            <Figures
              name="Time"
              left={left.state.duration_ms ?? 0}
              right={right.state.duration_ms ?? 0}
              show={showDuration}
            />
            <Figures
              name="Tokens"
              left={tokensOf(left.state.usage)}
              right={tokensOf(right.state.usage)}
              reused={takenOver(left.state.nodes, right.state.nodes, ({ usage }) => tokensOf(usage))}
              show={showNumber}
            />
            {left.state.usage.cost === null && right.state.usage.cost === null ? null : (
              <Figures
                name="Cost"
                left={left.state.usage.cost}
                right={right.state.usage.cost}
                reused={takenOver(left.state.nodes, right.state.nodes, ({ usage }) => usage.cost ?? 0)}
                show={costNumber}
              />
            )}
            {pairNodes(left.state.nodes, right.state.nodes).map(({ id, left: one, right: other }) => (
              <Pair key={id} name={<code>{id}</code>} left={<Step node={one} />} right={<Step node={other} />} />
            ))}
          </tbody>
        </table>
        <Steps left={left} right={right} />
        <Changes title="Output" changes={differences(left.state.output, right.state.output)} />
        <Changes title="Input" changes={differences(left.request.input, right.request.input)} />
        <SourceChanges left={left.request.source} right={right.request.source} />
      </div>
    </Dialog>
  )
}

function titleOf({ asked_at, request, label }: RunView): string {
  return [label ?? request.name ?? "", showMoment(asked_at)].filter((part) => part !== "").join(", ")
}

const maxSteps = 50

/** What each step was asked and gave, where that differs. */
function Steps({ left, right }: { readonly left: RunView; readonly right: RunView }) {
  const changed = changedSteps(left.state.spans, right.state.spans)
  return (
    <section>
      <h3>Steps</h3>
      {changed.length === 0 ? <p class="note">Every step was asked the same and gave the same.</p> : null}
      {changed.slice(0, maxSteps).map((pair) => (
        <section key={pair.id} aria-label={pair.id}>
          <h4>
            <code>{pair.id}</code>
          </h4>
          {hasOtherInstruction(pair) ? (
            <>
              <p class="note">Instruction</p>
              <LineChanges
                title="Instruction"
                left={pair.left.instruction ?? ""}
                right={pair.right.instruction ?? ""}
              />
            </>
          ) : null}
          <StepOutput left={pair.left.output} right={pair.right.output} />
        </section>
      ))}
      {changed.length > maxSteps ? <p class="note">And {counted(changed.length - maxSteps, "more step")}.</p> : null}
    </section>
  )
}

function StepOutput({ left, right }: { readonly left: JsonValue | undefined; readonly right: JsonValue | undefined }) {
  const changes =
    left === undefined || right === undefined
      ? left === right
        ? []
        : [{ path: "the whole", left, right }]
      : differences(left, right)
  if (changes.length === 0) return null
  return (
    <>
      <p class="note">Output</p>
      <Differences changes={changes} label="Output of the step" />
    </>
  )
}

function Ended({ run }: { readonly run: RunView }) {
  return <StateMark state={statusOf(run).state} />
}

function Step({ node }: { readonly node: NodeState | undefined }) {
  if (node === undefined) return <span class="note">not there</span>
  // Runs that are compared have ended.
  const status = nodeStatus(node, { finished_at: 0 }, 0)
  const { state, word } = status
  return (
    <>
      <StateMark state={state} text={word} /> <span class="note">{figuresOf(status)}</span>
    </>
  )
}

interface PairProps {
  readonly name: ComponentChildren
  readonly left: ComponentChildren
  readonly right: ComponentChildren
}

function Pair({ name, left, right }: PairProps) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{left}</td>
      <td>{right}</td>
    </tr>
  )
}

interface FiguresProps {
  readonly name: string
  /** Null where it is not known. */
  readonly left: number | null
  readonly right: number | null
  /** What the right one took over from the left one. */
  readonly reused?: number
  readonly show: (value: number) => string
}

function Figures({ name, left, right, reused = 0, show }: FiguresProps) {
  const change = left === null || left === 0 || right === null ? 0 : Math.round(((right - left) / left) * 100)
  const shown = change === 0 ? "" : ` (${change > 0 ? "+" : "−"}${Math.abs(change)} %)`
  const text = (value: number | null): string => (value === null ? "unknown" : show(value))
  if (reused > 0) return <Pair name={name} left={text(left)} right={`${text(right)} new + ${show(reused)} reused`} />
  return <Pair name={name} left={text(left)} right={`${text(right)}${shown}`} />
}

function Changes({ title, changes }: { readonly title: string; readonly changes: readonly Difference[] }) {
  return (
    <section>
      <h3>{title}</h3>
      {changes.length === 0 ? <p class="note">The same.</p> : <Differences changes={changes} label={title} />}
    </section>
  )
}

function Differences({ changes, label }: { readonly changes: readonly Difference[]; readonly label: string }) {
  return (
    <table aria-label={label}>
      <tbody>
        {changes.map(({ path, left, right }) => (
          <Pair key={path} name={<code>{path}</code>} left={<Cell value={left} />} right={<Cell value={right} />} />
        ))}
      </tbody>
    </table>
  )
}

function Cell({ value }: { readonly value: JsonValue | undefined }) {
  if (value === undefined) return <span class="note">not there</span>
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2)
  return (
    <span class="value" dir="auto">
      {text.length > 600 ? `${text.slice(0, 600)}…` : text}
    </span>
  )
}

function SourceChanges({ left, right }: { readonly left: string; readonly right: string }) {
  return (
    <section>
      <h3>Source</h3>
      {left === right ? <p class="note">The same.</p> : <LineChanges title="Source" left={left} right={right} />}
    </section>
  )
}

interface LineChangesProps {
  readonly title: string
  readonly left: string
  readonly right: string
}

function LineChanges({ title, left, right }: LineChangesProps) {
  return (
    <ul class="line-changes" aria-label={title} tabIndex={0}>
      {lineChanges(left, right)
        // A run without the text has no line of it, not an empty one.
        .filter(({ side }) => (side === "left" ? left : right) !== "")
        .slice(0, 200)
        .map(({ side, line, text }) => (
          <li key={`${side} ${line}`} class={side}>
            <span class="line-number">
              <span class="visually-hidden">
                {side === "left" ? "only at the left, line" : "only at the right, line"}
              </span>
              {side === "left" ? "−" : "+"} {line}
            </span>
            <code dir="auto">{text}</code>
          </li>
        ))}
    </ul>
  )
}
