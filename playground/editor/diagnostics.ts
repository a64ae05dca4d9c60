import type { Diagnostic as Mark } from "@codemirror/lint"
import type { Diagnostic } from "../../src/source/diagnostic.ts"

/** A diagnostic as the editor draws it: underlined where it is, told in full when pointed at. */
export function toMark(found: Diagnostic, length: number): Mark {
  const from = Math.min(found.span.start, length)
  const to = Math.min(Math.max(found.span.end, from), length)
  return { from, to, severity: found.severity, message: found.message, renderMessage: () => tell(found) }
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
