import type { IndentContext } from "@codemirror/language"
import { indentService, indentUnit } from "@codemirror/language"
import type { Extension } from "@codemirror/state"

/** A line inside a block is four spaces further in; one that closes it is where the block began. */
function indentOf(context: IndentContext, position: number): number {
  const { state, simulatedBreak } = context
  const broken = state.sliceDoc(state.doc.lineAt(position).from, position)
  const above = simulatedBreak === position ? broken : textAbove(context, position)
  if (above === undefined) return 0
  const base = /^ */.exec(above)?.[0].length ?? 0
  const opens = /[{[(]\s*(\/\/.*)?$/.test(above) || /:\s*"""\s*$/.test(above)
  const closes = /^\s*[}\])]/.test(context.lineAt(position, 1).text)
  return Math.max(0, base + ((opens ? 1 : 0) - (closes ? 1 : 0)) * state.facet(indentUnit).length)
}

/** The nearest line above that says something. */
function textAbove({ state }: IndentContext, position: number): string | undefined {
  for (let number = state.doc.lineAt(position).number - 1; number > 0; number--) {
    const { text } = state.doc.line(number)
    if (text.trim() !== "") return text
  }
  return undefined
}

export function indentation(): Extension {
  return [indentUnit.of("    "), indentService.of(indentOf)]
}
