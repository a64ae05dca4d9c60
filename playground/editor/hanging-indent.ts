import type { Extension } from "@codemirror/state"
import { RangeSetBuilder } from "@codemirror/state"
import type { DecorationSet, ViewUpdate } from "@codemirror/view"
import { Decoration, EditorView, ViewPlugin } from "@codemirror/view"

/** Deeper lines hang no further: what is left of a narrow pane is for text. */
const deepest = 6

const lines = Array.from({ length: deepest + 1 }, (_, level) => Decoration.line({ class: `cm-hang-${level}` }))

/** Indents the rest of a wrapped line one step further than its beginning. */
export function hangingIndent(): Extension {
  const plugin = ViewPlugin.fromClass(
    class {
      decorations: DecorationSet
      constructor(view: EditorView) {
        this.decorations = hang(view)
      }
      update(update: ViewUpdate): void {
        if (update.docChanged || update.viewportChanged) this.decorations = hang(update.view)
      }
    },
    { decorations: (value) => value.decorations },
  )
  const styles = lines.map((_, level) => [
    `.cm-line.cm-hang-${level}`,
    { paddingLeft: `calc(8px + ${(level + 1) * 4}ch)`, textIndent: `-${(level + 1) * 4}ch` },
  ])
  return [plugin, EditorView.lineWrapping, EditorView.theme(Object.fromEntries(styles))]
}

function hang(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>()
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to;) {
      const line = view.state.doc.lineAt(at)
      const blanks = /^ */.exec(line.text)?.[0].length ?? 0
      const decoration = lines[Math.min(deepest, Math.floor(blanks / 4))]
      if (decoration !== undefined) builder.add(line.from, line.from, decoration)
      at = line.to + 1
    }
  }
  return builder.finish()
}
