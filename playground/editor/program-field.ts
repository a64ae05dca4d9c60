import { codeFolding, foldGutter, foldService } from "@codemirror/language"
import type { EditorState, Extension, Range } from "@codemirror/state"
import { RangeSet, RangeValue, StateEffect, StateField } from "@codemirror/state"
import type { DecorationSet } from "@codemirror/view"
import { Decoration, EditorView } from "@codemirror/view"
import type { Analysis } from "../language/analysis.ts"
import { nameColours } from "../language/analysis.ts"

/** Names and folds of the text that is in the editor now. */
export const setKnowledge = StateEffect.define<Pick<Analysis, "names" | "folds">>()

/** What the newest compilation says about the text; it moves along with the text until there is a newer one. */
interface Knowledge {
  readonly names: DecorationSet
  readonly folds: RangeSet<FoldRange>
}

class FoldRange extends RangeValue {
  override eq(): boolean {
    return true
  }
}

const fold = new FoldRange()

const knowledge = StateField.define<Knowledge>({
  create: () => ({ names: Decoration.none, folds: RangeSet.empty }),
  update(known, { changes, effects, docChanged }) {
    const found = effects.find((effect) => effect.is(setKnowledge))
    if (found !== undefined) return knowledgeOf(found.value)
    return docChanged ? { names: known.names.map(changes), folds: known.folds.map(changes) } : known
  },
  provide: (field) => EditorView.decorations.from(field, ({ names }) => names),
})

function knowledgeOf({ names, folds }: Pick<Analysis, "names" | "folds">): Knowledge {
  const coloured: Range<Decoration>[] = []
  for (let at = 0; at + 2 < names.length; at += 3) {
    const mark = marks[names[at + 2] ?? 0]
    if (mark !== undefined) coloured.push(mark.range(names[at] ?? 0, names[at + 1] ?? 0))
  }
  const ranges: Range<FoldRange>[] = []
  for (let at = 0; at + 1 < folds.length; at += 2) ranges.push(fold.range(folds[at] ?? 0, folds[at + 1] ?? 0))
  return { names: Decoration.set(coloured), folds: RangeSet.of(ranges, true) }
}

const marks = nameColours.map((name) => Decoration.mark({ class: `wire-${name}` }))

/** What begins on the line and ends on a later one. */
function foldable(state: EditorState, from: number, to: number): { from: number; to: number } | null {
  let found: { from: number; to: number } | null = null
  state.field(knowledge).folds.between(from, to, (start, end) => {
    if (start < from || end <= to) return undefined
    found = { from: start, to: Math.min(end, state.doc.length) }
    return false
  })
  return found
}

/** Colours of names, and what can be folded. */
export function programKnowledge(): Extension {
  return [
    knowledge,
    foldService.of(foldable),
    codeFolding({ placeholderText: "…" }),
    foldGutter({
      openText: "⌄",
      closedText: "›",
      foldingChanged: ({ transactions }) =>
        transactions.some(({ effects }) => effects.some((effect) => effect.is(setKnowledge))),
    }),
  ]
}
