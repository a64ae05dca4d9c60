import { computed, signal } from "@preact/signals"
import { unknownRequest } from "./run-view.ts"
import { graphOf, watchShown } from "./shown-run.ts"
import { compilation, hasSameFiles } from "../language/source.ts"

/**
 * Which text the shown result belongs to: the text in the editor, an earlier state of it, or another text altogether
 * (an old run from the history, another person's run).
 */
export type Standing = "current" | "earlier" | "other"

/** A page without an editor shows runs of no text but their own. */
export const hasEditor = signal(true)

export const standing = computed((): Standing => {
  const run = watchShown()
  if (
    run === null ||
    !hasEditor.value ||
    (run.request.source === compilation.value.text && hasSameFiles(run.request.around))
  )
    return "current"
  // Nothing of a run that is gone is shown that could belong to a text.
  if (run.refused?.kind === "run_expired" || run.isMissing) return "current"
  return graphOf.value === "edited" && run.request !== unknownRequest ? "earlier" : "other"
})

/** `from an earlier version`; empty for what the text in the editor gave. */
export function standingWords(of: Standing): string {
  return of === "current" ? "" : of === "earlier" ? "from an earlier version" : "from a different workflow"
}
