import type { Completion as Item, CompletionContext, CompletionResult } from "@codemirror/autocomplete"
import {
  autocompletion,
  closeCompletion,
  pickedCompletion,
  selectedCompletion,
  snippet,
} from "@codemirror/autocomplete"
import type { EditorState, Extension } from "@codemirror/state"
import { Prec, StateField } from "@codemirror/state"
import type { Command, Tooltip } from "@codemirror/view"
import { EditorView, hoverTooltip, keymap, showTooltip } from "@codemirror/view"
import type { Program } from "../../src/check/program.ts"
import type { Completion } from "../../src/editor/completion.ts"
import type { Edit } from "../../src/editor/edit.ts"
import type { Hover } from "../../src/editor/hover.ts"
import type { SignatureHelp } from "../../src/editor/signature-help.ts"
import type { Span } from "../../src/source/span.ts"
import { notLoaded } from "../state/later.ts"
import { languageAnswers } from "../state/language-answers.ts"
import type * as LanguageFunctions from "../state/language-functions.ts"
import { setProgram } from "./program-field.ts"
import { appendSentence } from "../ui/append-sentence.ts"

export interface LanguageHost {
  /** The program of the text as it is at this moment. */
  program(): Program
  /** A sentence for the author. */
  say(sentence: string): void
  /** Offers the fixes of the problems on the line from `start` to `end`, near this place of the page. */
  offerFixes(line: Span, place: { readonly x: number; readonly y: number }): void
  showProblems(): void
  askName(name: string, rename: (to: string) => string | undefined): void
}

const answers = (): Promise<typeof LanguageFunctions> => languageAnswers.load()

/** Completion, hover, signatures, definition and rename, from the functions of `src/editor`. */
export function languageFeatures(host: LanguageHost): Extension {
  return [
    Prec.highest(keymap.of([{ key: "Enter", run: closeNeedlessList }])),
    autocompletion({ override: [(context) => completions(host, context)], icons: false, activateOnTyping: true }),
    hoverTooltip(async (view, position) => {
      const { doc } = view.state
      const found = (await answers()).hover(host.program(), position)
      if (found === undefined || view.state.doc !== doc) return null
      return { pos: found.span.start, end: found.span.end, above: true, create: () => ({ dom: hoverBox(found) }) }
    }),
    signatures,
    keymap.of([
      { key: "F12", run: goToDefinition(host), preventDefault: true },
      { key: "F2", run: startRename(host), preventDefault: true },
      { key: "Mod-.", run: offerFixes(host), preventDefault: true },
      { key: "Mod-Shift-m", run: () => (host.showProblems(), true), preventDefault: true },
    ]),
    EditorView.domEventHandlers({
      mousedown(event, view) {
        if (!(event.ctrlKey || event.metaKey) || event.button !== 0) return false
        const position = view.posAtCoords({ x: event.clientX, y: event.clientY })
        const loaded = languageAnswers.part.peek()
        return position !== null && loaded !== null && follow(loaded, host, view, position)
      },
    }),
  ]
}

function offerFixes(host: LanguageHost): Command {
  return (view) => {
    const { from, to } = view.state.doc.lineAt(view.state.selection.main.head)
    const at = view.coordsAtPos(view.state.selection.main.head)
    if (at !== null) host.offerFixes({ start: from, end: to }, { x: at.left, y: at.bottom })
    return true
  }
}

// ------------------------------------------------------------------------------------------------------ completion

type Answers = typeof LanguageFunctions

/** At once, unless the answers are still to be loaded. */
function completions(
  host: LanguageHost,
  context: CompletionContext,
): CompletionResult | null | Promise<CompletionResult | null> {
  const typed = context.matchBefore(/[A-Za-z_][A-Za-z0-9_]*/)
  const after = context.state.sliceDoc(Math.max(0, context.pos - 3), context.pos)
  // After a letter, a dot or a hash; elsewhere only when asked for.
  if (!context.explicit && typed === null && !/[.#]$|\{\{ ?$|: $/.test(after)) return null
  const loaded = languageAnswers.part.peek()
  const list = ({ complete }: Answers): CompletionResult | null =>
    completionList(complete(host.program(), context.pos), context)
  return loaded === null ? answers().then((now) => (context.aborted ? null : list(now))) : list(loaded)
}

function completionList(found: ReturnType<Answers["complete"]>, context: CompletionContext): CompletionResult | null {
  if (found === undefined || found.items.length === 0) return null
  const most = found.items.length
  return {
    from: found.span.start,
    to: Math.max(found.span.end, context.pos),
    options: found.items.map((item, at) => toItem(item, most - at)),
    validFor: /^[A-Za-z0-9_]*$/,
  }
}

/** An entry of the list that is shown, with the completion that it stands for. */
interface ListItem extends Item {
  readonly completion: Completion
}

function toItem(item: Completion, boost: number): ListItem {
  const { label, kind, detail, doc, filter } = item
  return {
    completion: item,
    label: filter ?? label,
    displayLabel: label,
    type: kind,
    ...(detail !== undefined && { detail }),
    ...(doc !== undefined && { info: doc }),
    // The likeliest come first: between -99 and 99, as the editor wants it.
    boost: Math.min(99, boost - 50),
    apply: (view, picked, from, to) => insert(view, picked, item, from, to),
  }
}

/**
 * Closes the list when the word is already typed as it would be inserted. The key then breaks the line, as it does
 * for an author who types faster than the list opens.
 */
function closeNeedlessList(view: EditorView): boolean {
  const picked = selectedCompletion(view.state) as ListItem | null
  if (picked !== null && isTyped(view.state, picked.completion)) closeCompletion(view)
  return false
}

function isTyped(state: EditorState, { insert, snippet, edits = [] }: Completion): boolean {
  if (snippet !== undefined || edits.length > 0) return false
  const { head } = state.selection.main
  return state.sliceDoc(head - insert.length, head) === insert && !/^\w/.test(state.sliceDoc(head, head + 1))
}

/** The edits that go with it first, then the text itself, with its places to fill in. */
function insert(view: EditorView, picked: Item, item: Completion, from: number, to: number): void {
  const edits = toChanges(item.edits ?? [])
  const changes = view.state.changes(edits)
  if (edits.length > 0) view.dispatch({ changes })
  const [start, end] = [changes.mapPos(from, 1), changes.mapPos(to, 1)]
  if (item.snippet !== undefined) snippet(item.snippet)(view, picked, start, end)
  else {
    view.dispatch({
      changes: { from: start, to: end, insert: item.insert },
      selection: { anchor: start + item.insert.length },
      annotations: pickedCompletion.of(picked),
      userEvent: "input.complete",
    })
  }
}

function toChanges(edits: readonly Edit[]): { from: number; to: number; insert: string }[] {
  return edits.map(({ span, text }) => ({ from: span.start, to: span.end, insert: text }))
}

// ----------------------------------------------------------------------------------------------------------- hover

function hoverBox({ code, doc, text }: Hover): HTMLElement {
  const box = document.createElement("div")
  box.className = "wire-hover"
  if (code !== undefined) box.append(withText("code", code))
  if (doc !== undefined) box.append(withText("p", doc))
  if (text !== undefined) {
    const paragraph = document.createElement("p")
    appendSentence(paragraph, text)
    box.append(paragraph)
  }
  return box
}

/** What the function takes whose arguments are being written; it follows the newest compilation. */
const signatures = StateField.define<{ readonly program: Program | null; readonly tooltip: Tooltip | null }>({
  create: () => ({ program: null, tooltip: null }),
  update(before, { effects, docChanged, selection, state, changes }) {
    const program = effects.find((effect) => effect.is(setProgram))?.value
    if (program !== undefined) return { program, tooltip: signatureAt(program, state) }
    if (docChanged) {
      const { tooltip } = before
      return { program: null, tooltip: tooltip && { ...tooltip, pos: changes.mapPos(tooltip.pos) } }
    }
    if (selection === undefined || before.program === null) return before
    return { ...before, tooltip: signatureAt(before.program, state) }
  },
  provide: (field) => showTooltip.from(field, ({ tooltip }) => tooltip),
})

function signatureAt(program: Program, state: EditorState): Tooltip | null {
  const { main } = state.selection
  const found = main.empty ? languageAnswers.part.peek()?.signatureHelp(program.tree, main.head) : undefined
  if (found === undefined) return null
  return { pos: found.span.start, above: true, create: () => ({ dom: signatureBox(found) }) }
}

function signatureBox({ forms, active, text }: SignatureHelp): HTMLElement {
  const box = document.createElement("div")
  box.className = "wire-hover wire-signature"
  const { label, parameters, at } = forms[active] ?? { label: "", parameters: [], at: undefined }
  const code = document.createElement("code")
  const { start, end } = (at === undefined ? undefined : parameters[at]) ?? { start: label.length, end: label.length }
  const current = document.createElement("strong")
  current.textContent = label.slice(start, end)
  code.append(label.slice(0, start), current, label.slice(end))
  const paragraph = document.createElement("p")
  appendSentence(paragraph, text)
  box.append(code, paragraph)
  return box
}

function withText(tag: "code" | "p", text: string): HTMLElement {
  const element = document.createElement(tag)
  element.textContent = text
  return element
}

// ------------------------------------------------------------------------------------------- definition and rename

function follow({ definition }: Answers, host: LanguageHost, view: EditorView, position: number): boolean {
  const [target] = definition(host.program(), position)?.targets.filter(({ file }) => file === undefined) ?? []
  if (target === undefined) return false
  const { start, end } = target.name
  view.dispatch({
    selection: { anchor: start, head: end },
    effects: EditorView.scrollIntoView(start, { y: "center" }),
  })
  return true
}

/** Does what needs the answers, as soon as they are there. */
function withAnswers(host: LanguageHost, work: (loaded: Answers, view: EditorView) => void): Command {
  return (view) => {
    const loaded = languageAnswers.part.peek()
    if (loaded !== null) work(loaded, view)
    else
      answers().then(
        (now) => work(now, view),
        () => host.say(notLoaded),
      )
    return true
  }
}

function goToDefinition(host: LanguageHost): Command {
  return withAnswers(host, (loaded, view) => {
    if (!follow(loaded, host, view, view.state.selection.main.head)) host.say("There is nothing to go to here.")
  })
}

function startRename(host: LanguageHost): Command {
  return withAnswers(host, ({ prepareRename, rename }, view) => {
    const position = view.state.selection.main.head
    const found = prepareRename(host.program(), position)
    if ("problem" in found) {
      host.say(found.problem)
      return
    }
    host.askName(found.name, (to) => {
      const outcome = rename(host.program(), position, to)
      if ("problem" in outcome) return outcome.problem
      view.dispatch({ changes: toChanges(outcome.edits), userEvent: "input.rename" })
      return undefined
    })
  })
}
