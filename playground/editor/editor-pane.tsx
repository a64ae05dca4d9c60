import { effect } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import { nodeAt } from "../../src/check/declared-places.ts"
import { requestRun } from "../run/request-run.ts"
import { setEditor } from "../files/editor-port.ts"
import { activeFile } from "../files/files.ts"
import { notify } from "../page/notices.ts"
import { offerFixes, showProblems } from "./quick-fixes.ts"
import { renaming } from "./renaming.ts"
import { selectAtCursor, selection } from "../shown-run/selection.ts"
import { served } from "../service/served.ts"
import { showPart } from "../language/parts.ts"
import { compilation, shownPart, shownSourceNow, sourceChanged, whenChecked } from "../language/source.ts"
import { createEditor } from "./create-editor.ts"
import { FixMenu } from "./fix-menu.tsx"
import { PartEditor } from "./part-editor.tsx"
import { languageFeatures } from "./language-features.ts"

/** The editor, which lives as long as the page. */
export function EditorPane() {
  const host = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (host.current === null) return undefined
    const editor = createEditor(
      host.current,
      activeFile.value,
      compilation.value.text,
      {
        changed: sourceChanged,
        run: requestRun,
        cursor: (at) => whenChecked(({ steps }) => selectAtCursor(nodeAt(steps, at))),
        formatted: () => whenChecked(() => undefined),
        refused: (sentence) => notify(sentence, "wrong"),
      },
      languageFeatures({
        source: shownSourceNow,
        say: (sentence) => notify(sentence, "wrong"),
        offerFixes,
        showProblems,
        askName: (name, rename) => {
          const note = "Every use of the name changes, and nothing else."
          renaming.value = { name, rename, note, onClose: () => editor.focus() }
        },
      }),
    )
    setEditor({
      ...editor,
      reveal(span) {
        showPart(null)
        editor.reveal(span)
      },
    })
    const stopProblems = effect(() => editor.show(compilation.value))
    const stopServed = effect(() => editor.setReadOnly(served.value !== null))
    const stopSelection = effect(() => {
      const chosen = selection.value
      const span = chosen === null ? undefined : compilation.peek().steps.get(chosen.node)?.span
      // The cursor is in view already, and stays where the author put it.
      editor.markSelected(span, chosen?.by !== "cursor")
    })
    return () => {
      stopProblems()
      stopServed()
      stopSelection()
      setEditor(undefined)
      editor.destroy()
    }
  }, [])
  return (
    <>
      <div class="editor" ref={host} hidden={shownPart.value !== null} />
      <PartEditor />
      <FixMenu />
    </>
  )
}
