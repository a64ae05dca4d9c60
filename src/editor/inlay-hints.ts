import type { DynamicSymbol, LoopVariable, Program } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import { showType } from "../types/show-type.ts"
import type { Type } from "../types/types.ts"

/** A type that the source does not say, and where it is shown. */
export interface InlayHint {
  readonly at: number
  /** `: [string]` */
  readonly text: string
}

/** Longer types are cut. */
const longest = 60

/** Types of dynamic values and of loop variables within a part of the source, in its order. */
export function inlayHints(program: Program, within: Span): readonly InlayHint[] {
  const hints: InlayHint[] = []
  const add = (name: Span, type: Type): void => {
    if (type.kind === "error" || name.end < within.start || name.end > within.end) return
    hints.push({ at: name.end, text: `: ${showType(type, longest)}` })
  }
  const addValues = (values: ReadonlyMap<string, DynamicSymbol>): void => {
    for (const { field, type } of values.values()) add(field.name, type)
  }
  const addVariables = (variables: ReadonlyMap<string, LoopVariable>): void => {
    for (const { name, type } of variables.values()) add(name, type)
  }
  addValues(program.dynamics)
  for (const steps of [program.agents, program.asks, program.waits]) {
    for (const [id, { locals, variables }] of steps) {
      // One that comes from another file is written there.
      if (program.importedDeclarations.has(`agent.${id}`) || program.importedDeclarations.has(`ask.${id}`)) continue
      addValues(locals)
      addVariables(variables)
    }
  }
  for (const variables of program.lists.values()) addVariables(variables)
  return hints.toSorted((a, b) => a.at - b.at)
}
