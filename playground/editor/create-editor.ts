import { closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete"
import { defaultKeymap, history, historyKeymap, indentWithTab, invertedEffects } from "@codemirror/commands"
import { bracketMatching, foldKeymap } from "@codemirror/language"
import { lintGutter, nextDiagnostic, previousDiagnostic, setDiagnostics } from "@codemirror/lint"
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search"
import type { ChangeSpec, Extension } from "@codemirror/state"
import { Compartment, EditorState, StateEffect, StateField } from "@codemirror/state"
import type { DecorationSet } from "@codemirror/view"
import {
  Decoration,
  drawSelection,
  dropCursor,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  tooltips,
} from "@codemirror/view"
import { isCodePath } from "../../src/source/code-files.ts"
import type { Span } from "../../src/source/span.ts"
import { formatText } from "../../src/syntax/format.ts"
import type { EditorPort, Swap } from "../files/editor-port.ts"
import type { Compilation } from "../language/source.ts"
import { applyEdits, toMarks } from "./diagnostics.ts"
import { editorTheme } from "./editor-theme.ts"
import { hangingIndent } from "./hanging-indent.ts"
import { lexicalHighlighting } from "./highlight.ts"
import { paint, paintCode } from "./paint.ts"
import { indentation } from "./indentation.ts"
import { programKnowledge, setKnowledge } from "./program-field.ts"

export interface EditorEvents {
  /** The text is another now; `read` gives it. */
  changed(read: () => string): void
  run(): void
  /** The cursor was moved to this place, by hand and not by typing. */
  cursor(at: number): void
  /** A format that could not be done, as a sentence. */
  refused(sentence: string): void
  formatted(): void
}

export interface Editor extends EditorPort {
  /** Shows what a compilation says, if it is of the text that is here now. */
  show(compilation: Compilation): void
  /** Marks the lines of what is selected in the graph or timeline. */
  markSelected(span: Span | undefined, scrolls: boolean): void
  destroy(): void
}

const swapped = StateEffect.define<Swap>()

const setSelected = StateEffect.define<Span | undefined>()

const selectedLines = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(lines, transaction) {
    let next = lines.map(transaction.changes)
    for (const effect of transaction.effects) {
      if (!effect.is(setSelected)) continue
      const { doc } = transaction.state
      next = Decoration.none
      if (effect.value === undefined) continue
      const first = doc.lineAt(Math.min(effect.value.start, doc.length)).number
      const last = doc.lineAt(Math.min(effect.value.end, doc.length)).number
      const mark = Decoration.line({ class: "cm-selected-node" })
      const starts = Array.from({ length: last - first + 1 }, (_, at) => mark.range(doc.line(first + at).from))
      next = Decoration.set(starts)
    }
    return next
  },
  provide: (field) => EditorView.decorations.from(field),
})

/** A CodeMirror in a shadow root, where its styles are sheets of the root and need no `unsafe-inline`. */
export function createEditor(
  host: HTMLElement,
  file: string,
  text: string,
  events: EditorEvents,
  features: Extension,
): Editor {
  /** The files that are not shown, each with the history of its changes. */
  const others = new Map<string, EditorState>()
  let shown = file
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" })
  const readOnly = new Compartment()
  const format = (): boolean => {
    if (isCodePath(shown)) {
      events.refused("Code is left as it is: only .wire files are formatted.")
      return true
    }
    if (view.state.readOnly) {
      events.refused("This is the server's workflow: edit a copy of it to format it.")
      return true
    }
    const sentence = formatDocument(view)
    if (sentence === undefined) events.formatted()
    else events.refused(sentence)
    return true
  }
  const run = (): boolean => {
    events.run()
    return true
  }
  const extensionsFor = (isCode: boolean): Extension => [
    keymap.of([
      { key: "Mod-Enter", run, preventDefault: true },
      { key: "Mod-s", run: format, preventDefault: true },
      { key: "Shift-Alt-f", run: format, preventDefault: true },
    ]),
    lineNumbers(),
    lintGutter(),
    lexicalHighlighting(isCode ? paintCode : paint),
    ...(isCode ? [] : [programKnowledge(), indentation(), features]),
    history(),
    drawSelection(),
    dropCursor(),
    EditorState.allowMultipleSelections.of(true),
    EditorState.tabSize.of(4),
    readOnly.of(EditorState.readOnly.of(false)),
    EditorState.languageData.of(() => [
      { commentTokens: { line: "//" }, closeBrackets: { brackets: ["(", "[", "{", '"', '"""'] } },
    ]),
    bracketMatching(),
    closeBrackets(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSelectionMatches(),
    search({ top: true }),
    hangingIndent(),
    tooltips({ position: "fixed" }),
    selectedLines,
    keymap.of([
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...foldKeymap,
      ...completionKeymap,
      { key: "F8", run: nextDiagnostic },
      { key: "Shift-F8", run: previousDiagnostic },
      indentWithTab,
    ]),
    EditorView.contentAttributes.of({
      tabindex: "0",
      "aria-label": "Workflow source",
      spellcheck: "false",
      autocorrect: "off",
      autocapitalize: "off",
      "aria-description": "Press Escape and then Tab to leave the editor.",
    }),
    invertedEffects.of(({ effects }) =>
      effects.flatMap((effect) =>
        effect.is(swapped) ? swapped.of({ apply: effect.value.revert, revert: effect.value.apply }) : [],
      ),
    ),
    EditorView.updateListener.of(({ docChanged, selectionSet, state, transactions }) => {
      if (docChanged) events.changed(() => view.state.doc.toString())
      else if (selectionSet && transactions.some((one) => one.isUserEvent("select"))) {
        events.cursor(state.selection.main.head)
      }
      for (const transaction of transactions) {
        if (!transaction.isUserEvent("undo") && !transaction.isUserEvent("redo")) continue
        for (const effect of transaction.effects) if (effect.is(swapped)) effect.value.apply()
      }
    }),
    editorTheme(),
  ]
  const [extensions, extensionsOfCode] = [extensionsFor(false), extensionsFor(true)]
  const create = (doc: string, of: string): EditorState =>
    EditorState.create({ doc, extensions: isCodePath(of) ? extensionsOfCode : extensions })
  const view: EditorView = new EditorView({ parent: root, root, state: create(text, file) })
  let isReadOnly = false
  const setReadOnly = (on: boolean): void => {
    isReadOnly = on
    const attributes = on ? EditorView.contentAttributes.of({ "aria-readonly": "true" }) : []
    view.dispatch({ effects: readOnly.reconfigure([EditorState.readOnly.of(on), attributes]) })
  }
  return {
    replace(next, swap) {
      const changes = difference(view.state.doc.toString(), next) ?? []
      view.dispatch({ changes, effects: swapped.of(swap), userEvent: "input.replace" })
    },
    open(next, doc) {
      others.set(shown, view.state)
      shown = next
      const known = others.get(next)
      view.setState(known?.doc.toString() === doc ? known : create(doc, next))
      setReadOnly(isReadOnly)
    },
    forget: (closed) => void others.delete(closed),
    change: (edits, of) => applyEdits(view, edits, of),
    reveal({ start, end }) {
      const { length } = view.state.doc
      const selection = { anchor: Math.min(start, length), head: Math.min(end, length) }
      view.dispatch({ selection, effects: EditorView.scrollIntoView(selection.anchor, { y: "center" }) })
      view.focus()
    },
    focus: () => view.focus(),
    setReadOnly,
    format: () => void format(),
    show(compilation) {
      const { doc } = view.state
      const marks = toMarks(compilation)
      if (compilation.text.length !== doc.length || compilation.text !== doc.toString()) return
      view.dispatch(setDiagnostics(view.state, marks), { effects: setKnowledge.of(compilation) })
    },
    markSelected(span, scrolls) {
      const { length } = view.state.doc
      const effects: StateEffect<unknown>[] = [setSelected.of(span)]
      if (span !== undefined && scrolls) {
        effects.push(EditorView.scrollIntoView(Math.min(span.start, length), { y: "nearest", yMargin: 60 }))
      }
      view.dispatch({ effects })
    },
    destroy: () => view.destroy(),
  }
}

/** Formats in one step that can be undone; a sentence when it cannot. */
function formatDocument(view: EditorView): string | undefined {
  const text = view.state.doc.toString()
  const outcome = formatText(text)
  if ("diagnostics" in outcome) {
    const [first] = outcome.diagnostics
    const line = first === undefined ? 1 : view.state.doc.lineAt(Math.min(first.span.start, text.length)).number
    return `Not formatted: fix line ${line} first. ${first?.message ?? "It has a syntax error"}.`
  }
  const changes = difference(text, outcome.formatted)
  if (changes !== undefined) view.dispatch({ changes, userEvent: "input.format" })
  return undefined
}

/** The change from one text to another, its common start and end left alone, so that the cursor stays where it is. */
function difference(from: string, to: string): ChangeSpec | undefined {
  if (from === to) return undefined
  let start = 0
  while (start < from.length && start < to.length && from.charCodeAt(start) === to.charCodeAt(start)) start++
  let end = 0
  const most = Math.min(from.length, to.length) - start
  while (end < most && from.charCodeAt(from.length - 1 - end) === to.charCodeAt(to.length - 1 - end)) end++
  return { from: start, to: from.length - end, insert: to.slice(start, to.length - end) }
}
