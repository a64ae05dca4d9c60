import type { Completion as Item, CompletionContext, CompletionResult } from "@codemirror/autocomplete"
import {
  autocompletion,
  closeCompletion,
  pickedCompletion,
  selectedCompletion,
  snippet,
} from "@codemirror/autocomplete"
import type { EditorState, Extension } from "@codemirror/state"
import { Prec, StateEffect, StateField } from "@codemirror/state"
import type { Command, PluginValue, Tooltip, ViewUpdate } from "@codemirror/view"
import { EditorView, hoverTooltip, keymap, showTooltip, ViewPlugin } from "@codemirror/view"
import type { Completion, Completions } from "../../src/editor/completion.ts"
import type { Edit } from "../../src/editor/edit.ts"
import type { Hover } from "../../src/editor/hover.ts"
import type { SignatureHelp } from "../../src/editor/signature-help.ts"
import type { Span } from "../../src/source/span.ts"
import type { Source } from "../language/analysis.ts"
import { ask } from "../language/ask.ts"
import { setKnowledge } from "./program-field.ts"
import { appendSentence } from "../ui/append-sentence.ts"

export interface LanguageHost {
  /** The text as it is at this moment, with its files. */
  source(): Source
  /** A sentence for the author. */
  say(sentence: string): void
  /** Offers the fixes of the problems on the line from `start` to `end`, near this place of the page. */
  offerFixes(line: Span, place: { readonly x: number; readonly y: number }): void
  showProblems(): void
  askName(name: string, rename: (to: string) => Promise<string | undefined>): void
}

/** Completion, hover, signatures, definition and rename, from the functions of `src/editor`, which the worker has. */
export function languageFeatures(host: LanguageHost): Extension {
  return [
    Prec.highest(keymap.of([{ key: "Enter", run: closeNeedlessList }])),
    autocompletion({ override: [(context) => completions(host, context)], icons: false, activateOnTyping: true }),
    hoverTooltip(async (view, position) => {
      const { doc } = view.state
      const found = await ask("hover", host.source(), position).catch(() => null)
      if (!found || view.state.doc !== doc) return null
      return { pos: found.span.start, end: found.span.end, above: true, create: () => ({ dom: hoverBox(found) }) }
    }),
    signature,
    signatures(host),
    keymap.of([
      { key: "F12", run: goToDefinition(host), preventDefault: true },
      { key: "F2", run: startRename(host), preventDefault: true },
      { key: "Mod-.", run: offerFixes(host), preventDefault: true },
      { key: "Mod-Shift-m", run: () => (host.showProblems(), true), preventDefault: true },
    ]),
    EditorView.domEventHandlers({
      click(event, view) {
        if (!(event.ctrlKey || event.metaKey) || event.button !== 0) return
        const position = view.posAtCoords({ x: event.clientX, y: event.clientY })
        if (position !== null) void follow(host, view, position)
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

async function completions(host: LanguageHost, context: CompletionContext): Promise<CompletionResult | null> {
  const typed = context.matchBefore(/[A-Za-z_][A-Za-z0-9_]*/)
  const after = context.state.sliceDoc(Math.max(0, context.pos - 3), context.pos)
  // After a letter, a dot or a hash; elsewhere only when asked for.
  if (!context.explicit && typed === null && !/[.#]$|\{\{ ?$|: $/.test(after)) return null
  const text = context.state.doc.toString()
  const found = await ask("complete", { ...host.source(), text }, context.pos).catch(() => null)
  return found && !context.aborted ? completionList(found, context) : null
}

function completionList({ span, items }: Completions, context: CompletionContext): CompletionResult | null {
  const most = items.length
  if (most === 0) return null
  return {
    from: span.start,
    to: Math.max(span.end, context.pos),
    options: items.map((item, at) => toItem(item, most - at)),
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

const setSignature = StateEffect.define<SignatureHelp | null>()

/** What the function takes whose arguments are being written. */
const signature = StateField.define<Tooltip | null>({
  create: () => null,
  update(tooltip, { effects, docChanged, changes }) {
    const found = effects.find((effect) => effect.is(setSignature))
    if (found !== undefined) return found.value && tooltipOf(found.value)
    return docChanged ? tooltip && { ...tooltip, pos: changes.mapPos(tooltip.pos) } : tooltip
  },
  provide: (field) => showTooltip.from(field),
})

function tooltipOf(found: SignatureHelp): Tooltip {
  return { pos: found.span.start, above: true, create: () => ({ dom: signatureBox(found) }) }
}

/** Asks anew when the text has been checked, and when the cursor moves in a text that has been. */
function signatures(host: LanguageHost): Extension {
  class Signatures implements PluginValue {
    #isChecked = false

    update({ transactions, docChanged, selectionSet, state, view }: ViewUpdate): void {
      const isNewer = transactions.some(({ effects }) => effects.some((effect) => effect.is(setKnowledge)))
      this.#isChecked = isNewer || (this.#isChecked && !docChanged)
      if (this.#isChecked && (isNewer || selectionSet)) void show(view, state)
    }
  }
  const show = async (view: EditorView, { doc, selection: { main } }: EditorState): Promise<void> => {
    const found = main.empty ? await ask("signatureHelp", host.source(), main.head).catch(() => null) : undefined
    const { state } = view
    if (found === null || state.doc !== doc || !state.selection.main.eq(main)) return
    const [shown, next] = [state.field(signature), found ?? null]
    if (shown !== null || next !== null) view.dispatch({ effects: setSignature.of(next) })
  }
  return ViewPlugin.fromClass(Signatures)
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

/** Goes to where the word is declared; false where there is nothing to go to. */
async function follow(host: LanguageHost, view: EditorView, position: number): Promise<boolean> {
  const { doc } = view.state
  const target = await ask("definition", host.source(), position).catch(() => undefined)
  if (target === undefined) return false
  if (target === null || view.state.doc !== doc) return true
  view.dispatch({
    selection: { anchor: target.start, head: target.end },
    effects: EditorView.scrollIntoView(target.start, { y: "center" }),
  })
  return true
}

function goToDefinition(host: LanguageHost): Command {
  return (view) => {
    void follow(host, view, view.state.selection.main.head).then((found) => {
      if (!found) host.say("There is nothing to go to here.")
    })
    return true
  }
}

function startRename(host: LanguageHost): Command {
  return (view) => {
    void askForName(host, view, view.state.selection.main.head)
    return true
  }
}

async function askForName(host: LanguageHost, view: EditorView, position: number): Promise<void> {
  const { doc } = view.state
  const found = await ask("prepareRename", host.source(), position).catch(() => null)
  if (found === null || view.state.doc !== doc) return
  if ("problem" in found) {
    host.say(found.problem)
    return
  }
  host.askName(found.name, async (to) => {
    const outcome = await ask("rename", host.source(), position, to)
    if (outcome === null) return "Another name is being tried: wait a moment."
    if ("problem" in outcome) return outcome.problem
    if (view.state.doc !== doc) return "The text has changed since. Begin anew."
    view.dispatch({ changes: toChanges(outcome.edits), userEvent: "input.rename" })
    return undefined
  })
}
