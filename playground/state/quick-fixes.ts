import { signal } from "@preact/signals"
import type { Edit } from "../../src/editor/edit.ts"
import type { Diagnostic } from "../../src/source/diagnostic.ts"
import type { Span } from "../../src/source/span.ts"
import { languageAnswers } from "./language-answers.ts"
import { shownEditor } from "./editor-port.ts"
import { paneTab, problemsOpen } from "./layout.ts"
import { notify } from "./notices.ts"
import { served } from "./served.ts"
import { shownCompilation } from "./parts.ts"
import { compileNow } from "./source.ts"

export interface QuickFix {
  readonly title: string
  readonly apply: () => void
}

/** Fixes of more problems than this are not looked for: a list of so many is not read to its end. */
export const mostWithFixes = 40

/** What can be done about a problem of the text as it is, the likeliest first. */
export function fixesOf(found: Diagnostic): readonly QuickFix[] {
  if (served.value !== null) return []
  const { program, text } = shownCompilation.value
  const actions = languageAnswers.part.value?.codeActions(program, [found], found.span) ?? []
  return actions.map(({ title, edits }) => ({
    title,
    apply: () => applyFix(edits, text),
  }))
}

function applyFix(edits: readonly Edit[], text: string): void {
  shownEditor()?.change(edits, text)
  compileNow()
}

/** The menu of fixes at the cursor; null when it is closed. */
export const fixMenu = signal<{
  readonly problems: readonly { readonly found: Diagnostic; readonly fixes: readonly QuickFix[] }[]
  readonly x: number
  readonly y: number
} | null>(null)

/** Opens the menu for the problems of a line. */
export function offerFixes({ start, end }: Span, { x, y }: { readonly x: number; readonly y: number }): void {
  const { diagnostics } = compileNow()
  const problems = diagnostics.filter(({ span }) => span.start <= end && start <= span.end)
  if (problems.length === 0) {
    notify("There is no problem on this line. F8 goes to the next one.", "done")
    return
  }
  fixMenu.value = { problems: problems.map((found) => ({ found, fixes: fixesOf(found) })), x, y }
}

/** Opens the list and goes to its first problem. */
export function showProblems(): void {
  paneTab.value = "editor"
  problemsOpen.value = true
  requestAnimationFrame(() =>
    document.querySelector<HTMLElement>(".problem-list .problem, .problem-bar .button")?.focus(),
  )
}
