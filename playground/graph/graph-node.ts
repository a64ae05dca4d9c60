/** A node of the drawing, before it has a place. */
export interface GraphNode {
  readonly id: string
  readonly kind: "dynamic" | "agent" | "ask" | "wait" | "output" | "group"
  readonly name: string
  readonly depends_on: readonly string[]
  /** What an agent runs over, or a list that calls: `path in input.files`. */
  readonly loop?: string
  /** The most rounds of an agent that repeats. */
  readonly rounds?: number
  readonly model?: string
  /** The name of the event that a wait is for. */
  readonly event?: string
  /** The names of the workflows that it calls, or that its model may call. */
  readonly calls?: readonly string[]
  /** The condition under which it runs. */
  readonly when?: string
  /** The closed group that it represents. */
  readonly group?: Group
}

/** Steps that stand together in a large graph, and can be shown as one. */
export interface Group {
  /** The same as long as its first step is the same. */
  readonly id: string
  /** One after the other, or side by side: branches between the same steps. */
  readonly shape: "row" | "side"
  /** How many branches stand side by side, or steps in a row. */
  readonly count: number
  /** Ids of all steps inside, in the order of the plan. */
  readonly steps: readonly string[]
}
