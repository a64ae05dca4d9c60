import { signal } from "@preact/signals"
import type { RunState } from "../../src/log/run-state.ts"

/** A call of a workflow that the graph is opened into. */
export interface OpenedCall {
  /** The step that calls, at its level. */
  readonly node: string
  /** The name of the workflow there. */
  readonly workflow: string
  /** Which of its calls in the run; null for the newest. */
  readonly scope: string | null
}

/** The way from the workflow itself to the graph that is drawn; empty for its own. */
export const openedCalls = signal<readonly OpenedCall[]>([])

/** The scopes of the calls that a step made of a workflow, in their order. `parent` is the scope of the step itself; empty at the top. */
export function scopesOf(state: RunState, parent: string, { node, workflow }: OpenedCall): string[] {
  const before = parent === "" ? "" : `${parent}/`
  return Object.keys(state.inside ?? {}).filter((scope) => {
    if (!scope.startsWith(before)) return false
    const found = /^([^@/]*)@([^/([#]*)[^/]*$/.exec(scope.slice(before.length))
    const place = found?.[2] ?? ""
    return found?.[1] === workflow && (place === node || place.startsWith(`${node}.`))
  })
}

/** What tells one call of a step from another: `[1]`, `#2`; the place, where a step calls at several. */
export function callLabel(scope: string, node: string): string {
  const last = scope.slice(scope.lastIndexOf("/") + 1)
  const place = last.slice(last.indexOf("@") + 1)
  return place.startsWith(node) && place.length > node.length ? place.slice(node.length).replace(/^\./, "") : place
}
