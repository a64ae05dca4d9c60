import type { Extension } from "@codemirror/state"
import { RangeSetBuilder } from "@codemirror/state"
import type { DecorationSet, EditorView, PluginValue, ViewUpdate } from "@codemirror/view"
import { Decoration, ViewPlugin } from "@codemirror/view"
import type { Paint } from "./paint.ts"

/** Up to this size a text is lexed anew with every key; a larger one when the author pauses for a moment. */
const small = 60_000
const pause = 60

const marks: Readonly<Record<Paint["as"], Decoration>> = {
  string: Decoration.mark({ class: "wire-string" }),
  number: Decoration.mark({ class: "wire-number" }),
  escape: Decoration.mark({ class: "wire-escape" }),
  comment: Decoration.mark({ class: "wire-comment" }),
  doc: Decoration.mark({ class: "wire-doc" }),
}

/** Colours strings, numbers and comments in view by our own tokens. */
class Highlighter implements PluginValue {
  decorations: DecorationSet = Decoration.none
  readonly #view: EditorView
  readonly #paint: (text: string) => readonly Paint[]
  #paints: readonly Paint[]
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(view: EditorView, paint: (text: string) => readonly Paint[]) {
    this.#view = view
    this.#paint = paint
    this.#paints = paint(view.state.doc.toString())
    this.#decorate()
  }

  update(update: ViewUpdate): void {
    if (update.docChanged) {
      if (update.state.doc.length <= small) this.#repaint()
      else {
        // Colours move along with the text until it is lexed again.
        this.decorations = this.decorations.map(update.changes)
        clearTimeout(this.#timer)
        this.#timer = setTimeout(() => {
          this.#repaint()
          this.#view.dispatch({})
        }, pause)
      }
    } else if (update.viewportChanged && this.#timer === undefined) this.#decorate()
  }

  destroy(): void {
    clearTimeout(this.#timer)
  }

  #repaint(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#paints = this.#paint(this.#view.state.doc.toString())
    this.#decorate()
  }

  #decorate(): void {
    const builder = new RangeSetBuilder<Decoration>()
    for (const { from, to } of this.#view.visibleRanges) {
      for (let at = firstEndingAfter(this.#paints, from); at < this.#paints.length; at++) {
        const piece = this.#paints[at]
        if (piece === undefined || piece.from >= to) break
        builder.add(Math.max(piece.from, from), Math.min(piece.to, to), marks[piece.as])
      }
    }
    this.decorations = builder.finish()
  }
}

function firstEndingAfter(paints: readonly Paint[], offset: number): number {
  let low = 0
  let high = paints.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((paints[middle]?.to ?? 0) <= offset) low = middle + 1
    else high = middle
  }
  return low
}

export function lexicalHighlighting(paint: (text: string) => readonly Paint[]): Extension {
  return ViewPlugin.define((view) => new Highlighter(view, paint), { decorations: (plugin) => plugin.decorations })
}
