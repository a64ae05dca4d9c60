import type { Action, Diagnostic as Mark } from "@codemirror/lint"
import type { EditorView } from "@codemirror/view"
import type { Program } from "../../src/check/program.ts"
import type { Edit } from "../../src/editor/edit.ts"
import type { Diagnostic } from "../../src/source/diagnostic.ts"
import { languageAnswers } from "../state/language-answers.ts"
import { codeAddress } from "../state/service.ts"
import { appendSentence } from "../ui/append-sentence.ts"
import { withoutBackticks } from "../ui/code-parts.ts"

/** Above this number of problems, quick fixes are not computed. */
const mostWithActions = 40

/** Diagnostics as the editor draws them: underlined in place, with message and quick fixes on hover. */
export function toMarks(program: Program, diagnostics: readonly Diagnostic[]): Mark[] {
  const { length } = program.tree.text
  return diagnostics.map((found, at) => {
    const from = Math.min(found.span.start, length)
    const to = Math.min(Math.max(found.span.end, from), length)
    return {
      from,
      to,
      severity: found.severity,
      message: found.message,
      renderMessage: () => tell(found),
      actions: at < mostWithActions ? actionsFor(program, found) : [],
    }
  })
}

function actionsFor(program: Program, found: Diagnostic): Action[] {
  const actions = languageAnswers.part.value?.codeActions(program, [found], found.span) ?? []
  return actions.map(({ title, edits }) => ({
    // The editor shows it as it is.
    name: withoutBackticks(title),
    apply: (view) => applyEdits(view, edits, program.tree.text),
  }))
}

/** Makes the edits of a text, unless another one is there by now: a newer text has newer problems. */
export function applyEdits(view: EditorView, edits: readonly Edit[], of: string): void {
  if (view.state.readOnly || view.state.doc.toString() !== of) return
  const changes = edits.map(({ span, text }) => ({ from: span.start, to: span.end, insert: text }))
  view.dispatch({ changes, userEvent: "input.fix" })
}

function tell({ message, hint, code }: Diagnostic): HTMLElement {
  const box = document.createElement("div")
  box.append(line("problem-message", message))
  if (hint !== undefined) box.append(line("problem-hint", hint))
  const link = document.createElement("a")
  Object.assign(link, { href: codeAddress(code), target: "_blank", rel: "noopener", textContent: code })
  link.className = "problem-code"
  box.append(link)
  return box
}

function line(className: string, text: string): HTMLElement {
  const element = document.createElement("div")
  element.className = className
  appendSentence(element, text)
  return element
}
