import { codeFolding, foldGutter, foldService } from "@codemirror/language"
import type { EditorState, Extension } from "@codemirror/state"
import { RangeSet, RangeValue, StateEffect, StateField } from "@codemirror/state"
import type { DecorationSet } from "@codemirror/view"
import { Decoration, EditorView } from "@codemirror/view"
import type { Program } from "../../src/check/program.ts"
import { folding } from "../../src/editor/folding.ts"
import type { SemanticToken } from "../../src/editor/semantic-tokens.ts"
import { semanticTokens } from "../../src/editor/semantic-tokens.ts"

/** A compilation of the text that is in the editor now. */
export const setProgram = StateEffect.define<Program>()

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
    const found = effects.find((effect) => effect.is(setProgram))
    if (found !== undefined) return knowledgeOf(found.value)
    return docChanged ? { names: known.names.map(changes), folds: known.folds.map(changes) } : known
  },
  provide: (field) => EditorView.decorations.from(field, ({ names }) => names),
})

function knowledgeOf(program: Program): Knowledge {
  const names = semanticTokens(program).flatMap((token) => {
    const mark = marks[classOf(token)]
    return mark === undefined ? [] : [mark.range(token.start, token.end)]
  })
  const folds = folding(program).map(({ start, end }) => fold.range(start, end))
  return { names: Decoration.set(names), folds: RangeSet.of(folds, true) }
}

const marks: Readonly<Record<string, Decoration>> = Object.fromEntries(
  ["keyword", "type", "root", "property", "declared", "variable", "member"].map((name) => [
    name,
    Decoration.mark({ class: `wire-${name}` }),
  ]),
)

/** The colour of a name; strings, numbers and comments have theirs from the lexer. */
function classOf({ type, modifiers }: SemanticToken): string {
  switch (type) {
    case "keyword":
      return "keyword"
    case "type":
      return "type"
    case "namespace":
      return "root"
    case "property":
      return modifiers.includes("defaultLibrary") ? "property" : ""
    case "function":
      if (modifiers.includes("defaultLibrary")) return "property"
      return modifiers.includes("declaration") ? "declared" : ""
    case "class":
    case "variable":
      return modifiers.includes("declaration") ? "declared" : ""
    case "parameter":
      return "variable"
    case "enumMember":
      return "member"
    default:
      return ""
  }
}

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
        transactions.some(({ effects }) => effects.some((effect) => effect.is(setProgram))),
    }),
  ]
}
