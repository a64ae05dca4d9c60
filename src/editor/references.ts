import type { Program } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import { linkedNodes } from "./linked-nodes.ts"
import { eachName } from "./each-name.ts"
import type { NameUse } from "./name-use.ts"
import type { Target } from "./targets.ts"
import { targetsOf } from "./targets.ts"
import { useAt } from "./use-at.ts"

export interface Reference extends Span {
  /** The name is declared here, and not only used. */
  readonly declares: boolean
}

/** Every place that names what the name at the offset stands for, in source order. */
export function references(program: Program, offset: number): readonly Reference[] {
  const use = useAt(program, offset)
  if (use === undefined) return []
  const found = occurrencesOf(program, targetsOf(program, use))
  return found.map(({ use: { start, end }, declares }) => ({ start, end, declares })).sort((a, b) => a.start - b.start)
}

/** A name that stands for one of the targets, or for what has to be called the same. */
export interface Occurrence {
  readonly use: NameUse
  readonly target: Target
  readonly declares: boolean
}

export function occurrencesOf(program: Program, targets: readonly Target[]): readonly Occurrence[] {
  const [first] = targets
  if (first === undefined) return []
  const uses: { use: NameUse; targets: readonly Target[] }[] = []
  eachName(program, (use) => {
    const named = targetsOf(program, use)
    if (named.length > 0) uses.push({ use, targets: named })
  })
  const wanted: ReadonlySet<object> = linkedNodes(program, targets, uses)
  const found: Occurrence[] = []
  for (const { use, targets: named } of uses) {
    const target = named.find(({ node }) => wanted.has(node))
    if (target !== undefined) found.push({ use, target, declares: target.name.start === use.start })
  }
  return found
}
