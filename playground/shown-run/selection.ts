import { computed, signal } from "@preact/signals"
import type { RunState, Span } from "../../src/log/run-state.ts"
import { nodeOfSpan, spanOfNode } from "../../src/log/span-names.ts"

/** The selection that all panes share: a node of the plan and, if a bar of the timeline was chosen, that bar. */
export interface Selection {
  /** `agent.x`, `dynamic.y`, `output`. */
  readonly node: string
  /** Position of the span in the run's state. */
  readonly span?: number
  /** In a loop: the item that was selected in the run before. */
  readonly iteration?: number
  /** A step of a workflow that the node calls, the call, and the bar of the timeline where one was chosen. */
  readonly inner?: { readonly scope: string; readonly node: string; readonly span?: number }
  /** The cursor in the editor is in this step. */
  readonly by?: "cursor"
}

export const selection = signal<Selection | null>(null)
/** The steps that the origin of a result leads through, as the graph marks them. */
export const tracedSteps = signal<ReadonlySet<string>>(new Set())
/** The details show the result although a step is selected: after a run has begun from within that step's text. */
const answerFirst = signal(false)
/** Whether the column of the details shows the result of the run. */
export const showsAnswer = computed(() => selection.value === null || answerFirst.value)

export function select(next: Selection | null): void {
  answerFirst.value = false
  const current = selection.value
  const isSame = current?.node === next?.node && current?.span === next?.span && current?.iteration === next?.iteration
  const [inner, other] = [current?.inner, next?.inner]
  if (isSame && inner?.node === other?.node && inner?.scope === other?.scope && inner?.span === other?.span) return
  selection.value = next
}

/** The cursor has moved into a step, or out of all of them. What was selected by hand stays until it enters another step. */
export function selectAtCursor(node: string | undefined): void {
  const current = selection.value
  if (current?.node === node) return
  if (node !== undefined) {
    selection.value = { node, by: "cursor" }
    answerFirst.value = false
  } else if (current?.by === "cursor") selection.value = null
}

/**
 * Another run is shown: the step stays selected where there still is one, and so does the item of a loop; the bar of the run
 * before does not. `before` is the state of that run.
 */
export function keepSelection(exists: (node: string) => boolean, before: RunState | undefined): void {
  const current = selection.value
  if (current === null) return
  if (!exists(current.node)) {
    selection.value = null
    return
  }
  const { node, by, span } = current
  const iteration = span === undefined ? current.iteration : before?.spans[span]?.iteration
  selection.value = { node, ...(by !== undefined && { by }), ...(iteration !== undefined && { iteration }) }
  answerFirst.value = by === "cursor"
}

/** Selects a step inside a call of a workflow, with the step of the run that calls. `span` is a bar of the call. */
export function selectInCall(state: RunState, scope: string, node: string, span?: number): void {
  const [first = ""] = scope.split("/")
  const at = state.spans.findIndex((one) => one.scope === first)
  select({
    node: (at < 0 ? undefined : nodeOfSpan(state, at)) ?? "",
    ...(at >= 0 && { span: at }),
    inner: { scope, node, ...(span !== undefined && { span }) },
  })
}

/** A row of the timeline: a span of the run, or of a call within it. */
export interface SelectedRow {
  readonly at: number
  readonly scope?: string
}

/** The row of the timeline that is selected, inside a call where a step there is. */
export function selectedRow(state: RunState, chosen: Selection): SelectedRow | undefined {
  const { inner } = chosen
  const inside = inner && state.inside?.[inner.scope]
  const innerAt = inside && (inner.span ?? spanOfNode(inside, inner.node))
  if (inner !== undefined && innerAt !== undefined) return { at: innerAt, scope: inner.scope }
  const at = selectedSpan(state, chosen)
  return at === undefined ? undefined : { at }
}

/** The row of the timeline that is selected: a bar, the item of a loop, or where the step begins. */
export function selectedSpan(state: RunState, { node, span, iteration }: Selection): number | undefined {
  if (span !== undefined) return span
  const item = (one: Span, at: number): boolean =>
    one.iteration === iteration && (one.kind === "iteration" || one.kind === "ask") && nodeOfSpan(state, at) === node
  const at = iteration === undefined ? -1 : state.spans.findIndex(item)
  return at < 0 ? spanOfNode(state, node) : at
}
