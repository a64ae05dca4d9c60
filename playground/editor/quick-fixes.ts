import { effect, signal } from "@preact/signals"
import type { Edit } from "../../src/editor/edit.ts"
import type { Diagnostic } from "../../src/source/diagnostic.ts"
import type { Span } from "../../src/source/span.ts"
import { isSameSource } from "../language/analysis.ts"
import { shownEditor } from "../files/editor-port.ts"
import { ask } from "../language/ask.ts"
import { paneTab, problemsOpen } from "../page/layout.ts"
import { notify } from "../page/notices.ts"
import { served } from "../service/served.ts"
import { shownCompilation } from "../language/parts.ts"
import type { Compilation } from "../language/source.ts"
import { whenChecked } from "../language/source.ts"

export interface QuickFix {
  readonly title: string
  readonly edits: readonly Edit[]
  readonly apply: () => void
}

/** The fixes of the problems of a compilation, by their positions, once the worker has looked for them. */
const known = signal<{ readonly of: Compilation; readonly fixes: readonly (readonly QuickFix[])[] } | null>(null)

effect(() => {
  const shown = shownCompilation.value
  if (shown.diagnostics.length > 0 && served.value === null) void lookForFixes(shown)
})

async function lookForFixes(of: Compilation): Promise<void> {
  if (known.peek()?.of === of) return
  const found = await ask("fixes", of.source).catch(() => null)
  if (found === null) return
  const fixes = found.map((list) =>
    list.map(({ title, edits }) => ({ title, edits, apply: () => applyFix(edits, of.text) })),
  )
  known.value = { of, fixes }
}

/** What can be done about a problem of the text as it is, the likeliest first. */
export function fixesOf(found: Diagnostic): readonly QuickFix[] {
  const shown = shownCompilation.value
  if (served.value !== null || known.value === null || !isSameSource(known.value.of.source, shown.source)) return []
  return known.value.fixes[shown.diagnostics.indexOf(found)] ?? []
}

function applyFix(edits: readonly Edit[], text: string): void {
  shownEditor()?.change(edits, text)
  whenChecked(() => undefined)
}

/** The menu of fixes at the cursor; null when it is closed. */
export const fixMenu = signal<{
  readonly problems: readonly { readonly found: Diagnostic; readonly fixes: readonly QuickFix[] }[]
  readonly x: number
  readonly y: number
} | null>(null)

/** Opens the menu for the problems of a line. */
export function offerFixes({ start, end }: Span, place: { readonly x: number; readonly y: number }): void {
  whenChecked((now) => {
    const problems = now.diagnostics.filter(({ span }) => span.start <= end && start <= span.end)
    if (problems.length === 0) {
      notify("There is no problem on this line. F8 goes to the next one.", "done")
      return
    }
    void lookForFixes(now).then(() => {
      fixMenu.value = { problems: problems.map((found) => ({ found, fixes: fixesOf(found) })), ...place }
    })
  })
}

/** Opens the list and goes to its first problem. */
export function showProblems(): void {
  paneTab.value = "editor"
  problemsOpen.value = true
  requestAnimationFrame(() =>
    document.querySelector<HTMLElement>(".problem-list .problem, .problem-bar .button")?.focus(),
  )
}
