import type { Action, Diagnostic as Mark } from "@codemirror/lint"
import type { EditorView } from "@codemirror/view"
import type { Edit } from "../../src/editor/edit.ts"
import type { Diagnostic } from "../../src/source/diagnostic.ts"
import { fixesOf } from "./quick-fixes.ts"
import { codeAddress } from "../service/service.ts"
import type { Compilation } from "../language/source.ts"
import { appendSentence } from "../ui/append-sentence.ts"
import { withoutBackticks } from "../ui/code-parts.ts"

/** Diagnostics as the editor draws them: underlined in place, with message and quick fixes on hover. */
export function toMarks({ text, diagnostics }: Compilation): Mark[] {
  const { length } = text
  return diagnostics.map((found) => {
    const from = Math.min(found.span.start, length)
    const to = Math.min(Math.max(found.span.end, from), length)
    return {
      from,
      to,
      severity: found.severity,
      message: found.message,
      renderMessage: () => tell(found),
      actions: actionsFor(found, text),
    }
  })
}

function actionsFor(found: Diagnostic, text: string): Action[] {
  return fixesOf(found).map(({ title, edits }) => ({
    // The editor shows it as it is.
    name: withoutBackticks(title),
    apply: (view) => applyEdits(view, edits, text),
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
