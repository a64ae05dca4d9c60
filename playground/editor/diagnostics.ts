import type { Action, Diagnostic as Mark } from "@codemirror/lint"
import type { Program } from "../../src/check/program.ts"
import { codeActions } from "../../src/editor/code-actions.ts"
import type { Diagnostic } from "../../src/source/diagnostic.ts"

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
  return codeActions(program, [found], found.span).map(({ title, edits }) => ({
    name: title,
    apply(view) {
      // The problem is of the text as it is: a newer text has a newer problem.
      if (view.state.doc.toString() !== program.tree.text) return
      const changes = edits.map(({ span, text }) => ({ from: span.start, to: span.end, insert: text }))
      view.dispatch({ changes, userEvent: "input.fix" })
    },
  }))
}

function tell({ message, hint, code }: Diagnostic): HTMLElement {
  const box = document.createElement("div")
  box.append(line("problem-message", message))
  if (hint !== undefined) box.append(line("problem-hint", hint))
  box.append(line("problem-code", code))
  return box
}

function line(className: string, text: string): HTMLElement {
  const element = document.createElement("div")
  element.className = className
  element.textContent = text
  return element
}
