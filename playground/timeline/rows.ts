import { scopeAround } from "../../src/plan/call-scope.ts"
import type { RunState } from "../../src/log/run-state.ts"

/** A line of the waterfall. */
export interface Row {
  /** Position of its span. */
  readonly at: number
  /** The call of a workflow whose span it is; undefined for one of the run itself. */
  readonly scope?: string
  readonly level: number
  readonly isParent: boolean
  readonly isOpen: boolean
  /** The model call that the step at this position waits for: no event reports it before the step has ended. */
  readonly isCall?: true
}

/** A loop with more iterations than this shows each of them closed, and so does a run with more calls of workflows. */
const many = 12

/**
 * The rows of a run's waterfall, a parent before its children and these by their start; a call of a workflow has the steps inside as its
 * children. Spans are only ever added, so that each is looked at once, however many frames are drawn while it runs.
 */
export class Rows {
  readonly #state: RunState
  /** By scope; that of the run itself is empty. */
  readonly #trees = new Map<string, Tree>()

  constructor(state: RunState) {
    this.#state = state
  }

  /** The state that has the spans of a call; of the run itself without a scope. */
  stateOf(scope: string | undefined): RunState | undefined {
    return scope === undefined ? this.#state : this.#state.inside?.[scope]
  }

  toggle(at: number, scope?: string): void {
    this.#tree(scope)?.choose(at, !this.#isOpen(at, scope))
  }

  /** Opens what a span lies in, so that it has a row. */
  uncover(at: number, scope?: string): void {
    this.#tree(scope)?.uncover(at)
    if (scope === undefined) return
    const around = scopeAround(scope) ?? undefined
    const call = this.stateOf(around)?.spans.findIndex((span) => span.scope === scope) ?? -1
    if (call < 0) return
    this.#tree(around)?.choose(call, true)
    this.uncover(call, around)
  }

  list(): Row[] {
    const rows: Row[] = []
    const walk = (tree: Tree, positions: readonly number[], level: number, scope: string | undefined): void => {
      const here = scope === undefined ? {} : { scope }
      for (const at of positions) {
        const children = tree.children(at)
        const inner = tree.state.spans[at]?.scope
        const inside = inner === undefined ? undefined : this.#tree(inner)
        const calls = callStart(tree.state, at, children) !== undefined
        const isParent = children.length > 0 || calls || (inside?.tops().length ?? 0) > 0
        const isOpen = isParent && this.#isOpen(at, scope)
        rows.push({ at, ...here, level, isParent, isOpen })
        if (!isOpen) continue
        walk(tree, children, level + 1, scope)
        if (inside !== undefined) walk(inside, inside.tops(), level + 1, inner)
        if (calls) rows.push({ at, ...here, level: level + 1, isParent: false, isOpen: false, isCall: true })
      }
    }
    const top = this.#tree(undefined)
    if (top !== undefined) walk(top, top.tops(), 1, undefined)
    return rows
  }

  /** When the call began that a step waits for. */
  callStart(at: number, scope?: string): number | undefined {
    const tree = this.#tree(scope)
    return tree && callStart(tree.state, at, tree.children(at))
  }

  #tree(scope: string | undefined): Tree | undefined {
    const known = this.#trees.get(scope ?? "")
    const state = this.stateOf(scope)
    if (known !== undefined || state === undefined) return known
    const tree = new Tree(state)
    this.#trees.set(scope ?? "", tree)
    return tree
  }

  #isOpen(at: number, scope: string | undefined): boolean {
    const tree = this.#tree(scope)
    const chosen = tree?.chosen(at)
    const span = tree?.state.spans[at]
    if (chosen !== undefined) return chosen
    if (span?.kind === "workflow_call") return Object.keys(this.#state.inside ?? {}).length <= many
    if (span?.kind !== "iteration" || span.parent === null) return true
    return (tree?.children(span.parent).length ?? 0) <= many
  }
}

/** The spans of one state as a tree. */
class Tree {
  readonly state: RunState
  readonly #children: number[][] = []
  readonly #tops: number[] = []
  /** What was opened or closed by hand. */
  readonly #choices = new Map<number, boolean>()
  #seen = 0

  constructor(state: RunState) {
    this.state = state
  }

  choose(at: number, isOpen: boolean): void {
    this.#choices.set(at, isOpen)
  }

  chosen(at: number): boolean | undefined {
    return this.#choices.get(at)
  }

  uncover(at: number): void {
    for (let parent = this.state.spans[at]?.parent ?? null; parent !== null;) {
      this.#choices.set(parent, true)
      parent = this.state.spans[parent]?.parent ?? null
    }
  }

  tops(): readonly number[] {
    this.#take()
    return this.#tops
  }

  children(at: number): readonly number[] {
    this.#take()
    return this.#children[at] ?? []
  }

  #take(): void {
    const { spans } = this.state
    for (; this.#seen < spans.length; this.#seen++) {
      const span = spans[this.#seen]
      if (span === undefined) break
      this.#children[this.#seen] = []
      const siblings = span.parent === null ? this.#tops : (this.#children[span.parent] ?? this.#tops)
      // Model calls are reported when their agent is done, with the time at which they began.
      let place = siblings.length
      while (place > 0 && (spans[siblings[place - 1] ?? 0]?.start ?? 0) > span.start) place--
      siblings.splice(place, 0, this.#seen)
    }
  }
}

/** A step that runs, and none of its parts does, waits for its model: since the last of its parts has ended. */
function callStart({ spans, status }: RunState, at: number, children: readonly number[]): number | undefined {
  const span = spans[at]
  if (span === undefined || span.end !== null || status !== "running") return undefined
  if (span.kind !== "agent" && span.kind !== "iteration") return undefined
  let start = span.start
  for (const child of children) {
    const { end } = spans[child] ?? span
    if (end === null) return undefined
    start = Math.max(start, end)
  }
  return start
}
