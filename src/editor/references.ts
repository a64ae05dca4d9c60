import type { Program } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import { linkedNodes } from "./linked-nodes.ts"
import { eachName } from "./each-name.ts"
import type { NameUse } from "./name-use.ts"
import { targetsOf, type Target } from "./targets.ts"
import { useAt } from "./use-at.ts"

export interface Reference extends Span {
  /** The name is declared here, and not only used. */
  readonly declares: boolean
}

/** All references to the thing that is named at the offset, in source order. */
export function references(program: Program, offset: number): readonly Reference[] {
  const use = useAt(program, offset)
  if (use === undefined) return []
  return occurrencesOf(program, targetsOf(program, use))
    .map(({ start, end, declares }) => ({ start, end, declares }))
    .sort((a, b) => a.start - b.start)
}

/** Whether the name refers to one of the targets, or to something that must have the same name. */
export interface Occurrence extends Reference {
  /** Undefined for a text between quotes that names a case. */
  readonly use: NameUse | undefined
  readonly target: Target
}

export function occurrencesOf(program: Program, targets: readonly Target[]): readonly Occurrence[] {
  const [first] = targets
  if (first === undefined) return []
  const uses: { use: NameUse; targets: readonly Target[] }[] = []
  eachName(program, (use) => {
    const named = targetsOf(program, use)
    if (named.length > 0) uses.push({ use, targets: named })
  })
  const { nodes, strings } = linkedNodes(program, targets, uses)
  const found: Occurrence[] = []
  for (const { use, targets: named } of uses) {
    const target = named.find(({ node }) => nodes.has(node))
    if (target === undefined) continue
    found.push({ start: use.start, end: use.end, use, target, declares: target.name.start === use.start })
  }
  for (const { start, end } of strings) found.push({ start, end, use: undefined, target: first, declares: false })
  return found
}
