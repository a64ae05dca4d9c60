import { signal } from "@preact/signals"

/** What is selected, everywhere at once: a node of the plan, and where a bar of the timeline was chosen, which one. */
export interface Selection {
  /** `agent.x`, `dynamic.y`, `output`. */
  readonly node: string
  /** Position of the span in the run's state. */
  readonly span?: number
}

export const selection = signal<Selection | null>(null)

export function select(next: Selection | null): void {
  const current = selection.value
  if (current?.node === next?.node && current?.span === next?.span) return
  selection.value = next
}
