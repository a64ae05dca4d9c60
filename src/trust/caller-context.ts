import type { Program } from "../check/program.ts"
import { deliveredWhen } from "./deliveries.ts"
import { flat, type Labelled } from "./label-tree.ts"
import { allLabels, none, type Marks } from "./marks.ts"

/** What the caller of a file knows of the call. */
export interface CallerContext {
  /** The labels of a field of the input; undefined for the file that is checked. */
  readonly given?: (field: string) => Labelled
  /** What decides that the file is called. */
  readonly decided: Marks
  /** What decides how long the run has waited before. */
  readonly waited: Marks
  /** What decides which of the events are left that others wait for, too. */
  readonly events: ReadonlyMap<string, Marks>
  /** Calls that may still be followed. */
  readonly budget: {
    left: number
    /** Files that were looked at as if any of their input could be a stranger's, and private. */
    readonly assumed: Set<Program>
  }
  readonly depth: number
  /** The run goes on where the file fails. */
  readonly isCaught: boolean
  /** The first offset of the file's text among those of other files; 0 for the file that is checked. */
  readonly base: number
}

/** At most so many calls of files within each other are made. */
export const maxCallDepth = 8
/** Files that call many files, which call many: a few hundred lines could keep the checker busy for hours. */
const maxFollowed = 2000

export function freshBudget(): CallerContext["budget"] {
  return { left: maxFollowed, assumed: new Set() }
}

/** Nobody calls the file that is checked. */
export function outermost(program: Program): CallerContext {
  return {
    decided: deliveredWhen(program),
    waited: none,
    events: new Map(),
    budget: freshBudget(),
    depth: 0,
    isCaught: false,
    base: 0,
  }
}

/** An input of which nothing is known. */
export function assumedInput({ input }: Program): Labelled {
  return flat(allLabels("input", input?.declaration ?? { start: 0, end: 0 }))
}
