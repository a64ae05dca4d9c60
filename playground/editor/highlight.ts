import { codeFolding, foldGutter, foldService, indentService } from "@codemirror/language"
import type { EditorState, Extension } from "@codemirror/state"
import { RangeSetBuilder } from "@codemirror/state"
import type { DecorationSet, PluginValue, ViewUpdate } from "@codemirror/view"
import { Decoration, EditorView, ViewPlugin } from "@codemirror/view"
import type { Paint, Painted } from "./paint.ts"
import { paint } from "./paint.ts"

/** Up to this size a text is lexed anew with every key; a larger one when the author pauses for a moment. */
const small = 60_000
const pause = 60

const marks: Readonly<Record<Paint["as"], Decoration>> = {
  keyword: Decoration.mark({ class: "wire-keyword" }),
  type: Decoration.mark({ class: "wire-type" }),
  root: Decoration.mark({ class: "wire-root" }),
  property: Decoration.mark({ class: "wire-property" }),
  string: Decoration.mark({ class: "wire-string" }),
  number: Decoration.mark({ class: "wire-number" }),
  escape: Decoration.mark({ class: "wire-escape" }),
  comment: Decoration.mark({ class: "wire-comment" }),
  doc: Decoration.mark({ class: "wire-doc" }),
}

/** Colours what is in view by our own tokens. */
class Highlighter implements PluginValue {
  decorations: DecorationSet = Decoration.none
  readonly #view: EditorView
  #painted: Painted
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(view: EditorView) {
    this.#view = view
    this.#painted = paint(view.state.doc.toString())
    this.#decorate()
  }

  get pairs(): Painted["pairs"] {
    return this.#painted.pairs
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
    this.#painted = paint(this.#view.state.doc.toString())
    this.#decorate()
  }

  #decorate(): void {
    const builder = new RangeSetBuilder<Decoration>()
    const { paints } = this.#painted
    for (const { from, to } of this.#view.visibleRanges) {
      for (let at = firstEndingAfter(paints, from); at < paints.length; at++) {
        const piece = paints[at]
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

const highlighter = ViewPlugin.fromClass(Highlighter, { decorations: (plugin) => plugin.decorations })

/** A block, list or block string that begins on the line and ends on a later one can be folded away. */
function foldable(state: EditorState, from: number, to: number): { from: number; to: number } | null {
  const text = state.sliceDoc(from, to)
  if (!/[{["]/.test(text)) return null
  const { pairs } = paintOf(state)
  let low = 0
  let high = pairs.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((pairs[middle]?.open ?? 0) < from) low = middle + 1
    else high = middle
  }
  for (let at = low; at < pairs.length; at++) {
    const pair = pairs[at]
    if (pair === undefined || pair.open > to) return null
    if (pair.close > to) return { from: pair.open + 1, to: pair.close }
  }
  return null
}

const painted = new WeakMap<EditorState["doc"], Painted>()

function paintOf(state: EditorState): Painted {
  let known = painted.get(state.doc)
  if (known === undefined) painted.set(state.doc, (known = paint(state.doc.toString())))
  return known
}

/** A line inside a block is four spaces further in; one that closes it is where the block began. */
function indentOf(state: EditorState, position: number): number {
  const line = state.doc.lineAt(position)
  let number = line.number - 1
  while (number > 0 && state.doc.line(number).text.trim() === "") number--
  if (number === 0) return 0
  const above = state.doc.line(number).text
  const base = /^ */.exec(above)?.[0].length ?? 0
  const opens = /[{[(]\s*(\/\/.*)?$/.test(above) || /:\s*"""\s*$/.test(above)
  const closes = /^\s*[}\])]/.test(line.text)
  return Math.max(0, base + (opens ? 4 : 0) - (closes ? 4 : 0))
}

export function wireHighlighting(): Extension {
  return [
    highlighter,
    foldService.of(foldable),
    codeFolding({ placeholderText: "…" }),
    foldGutter({ openText: "⌄", closedText: "›" }),
    indentService.of((context, position) => indentOf(context.state, position)),
    EditorView.contentAttributes.of({ spellcheck: "false", autocorrect: "off", autocapitalize: "off" }),
  ]
}
