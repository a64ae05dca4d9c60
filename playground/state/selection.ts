import { computed, signal } from "@preact/signals"

/** What is selected, everywhere at once: a node of the plan, and where a bar of the timeline was chosen, which one. */
export interface Selection {
  /** `agent.x`, `dynamic.y`, `output`. */
  readonly node: string
  /** Position of the span in the run's state. */
  readonly span?: number
  /** The cursor in the editor is in this step. */
  readonly by?: "cursor"
}

export const selection = signal<Selection | null>(null)
/** The details show the result although a step is selected: after a run has begun from within that step's text. */
const answerFirst = signal(false)
/** Whether the column of the details shows the result of the run. */
export const showsAnswer = computed(() => selection.value === null || answerFirst.value)

export function select(next: Selection | null): void {
  answerFirst.value = false
  const current = selection.value
  if (current?.node === next?.node && current?.span === next?.span) return
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

/** Another run is shown: the step stays selected where there still is one, the bar of the run before does not. */
export function keepSelection(exists: (node: string) => boolean): void {
  const current = selection.value
  if (current === null) return
  if (!exists(current.node)) {
    selection.value = null
    return
  }
  selection.value = { node: current.node, ...(current.by !== undefined && { by: current.by }) }
  answerFirst.value = current.by === "cursor"
}
