import type { RunState } from "../../src/log/run-state.ts"

/** A line of the waterfall. */
export interface Row {
  /** Position of its span. */
  readonly at: number
  readonly level: number
  readonly isParent: boolean
  readonly isOpen: boolean
  /** The model call that the step at this position waits for: no event reports it before the step has ended. */
  readonly isCall?: true
}

/** A loop with more iterations than this shows each of them closed. */
const manyIterations = 12

/**
 * The rows of a run's waterfall, a parent before its children and these by their start. Spans are only ever added, so that
 * each is looked at once, however many frames are drawn while it runs.
 */
export class Rows {
  readonly #state: RunState
  readonly #children: number[][] = []
  readonly #tops: number[] = []
  /** What was opened or closed by hand. */
  readonly #choices = new Map<number, boolean>()
  #seen = 0

  constructor(state: RunState) {
    this.#state = state
  }

  toggle(at: number): void {
    this.#choices.set(at, !this.#isOpen(at))
  }

  /** Opens what a span lies in, so that it has a row. */
  uncover(at: number): void {
    this.#take()
    for (let parent = this.#state.spans[at]?.parent ?? null; parent !== null;) {
      this.#choices.set(parent, true)
      parent = this.#state.spans[parent]?.parent ?? null
    }
  }

  list(): Row[] {
    this.#take()
    const rows: Row[] = []
    const walk = (positions: readonly number[], level: number): void => {
      for (const at of positions) {
        const children = this.#children[at] ?? []
        const calls = callStart(this.#state, at, children) !== undefined
        const isParent = children.length > 0 || calls
        const isOpen = isParent && this.#isOpen(at)
        rows.push({ at, level, isParent, isOpen })
        if (!isOpen) continue
        walk(children, level + 1)
        if (calls) rows.push({ at, level: level + 1, isParent: false, isOpen: false, isCall: true })
      }
    }
    walk(this.#tops, 1)
    return rows
  }

  /** When the call began that a step waits for. */
  callStart(at: number): number | undefined {
    return callStart(this.#state, at, this.#children[at] ?? [])
  }

  #isOpen(at: number): boolean {
    const chosen = this.#choices.get(at)
    if (chosen !== undefined) return chosen
    const span = this.#state.spans[at]
    if (span?.kind !== "iteration" || span.parent === null) return true
    return (this.#children[span.parent]?.length ?? 0) <= manyIterations
  }

  #take(): void {
    const { spans } = this.#state
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
