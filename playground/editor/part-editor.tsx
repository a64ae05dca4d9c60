import { effect } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import { requestRun } from "../run/request-run.ts"
import { setPartEditor } from "../state/editor-port.ts"
import { notify } from "../state/notices.ts"
import { partCompilation } from "../state/parts.ts"
import { showProblems } from "../state/quick-fixes.ts"
import { renaming } from "../state/renaming.ts"
import { served } from "../state/served.ts"
import { compileNow, filesAround, partChanged, shownPart } from "../state/source.ts"
import { createEditor } from "./create-editor.ts"
import { languageFeatures } from "./language-features.ts"

/** The editor of another file of the workflow. It is made anew for each of them. */
export function PartEditor({ path }: { readonly path: string }) {
  const host = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (host.current === null) return undefined
    const now = () => {
      const { program } = compileNow()
      return partCompilation.value?.program ?? program
    }
    const editor = createEditor(
      host.current,
      path,
      filesAround.peek().modules?.[path] ?? "",
      {
        changed: (read) => partChanged(path, read),
        run: requestRun,
        cursor: () => undefined,
        formatted: () => void compileNow(),
        refused: (sentence) => notify(sentence, "wrong"),
      },
      languageFeatures({
        program: now,
        say: (sentence) => notify(sentence, "wrong"),
        offerFixes: showProblems,
        showProblems,
        askName: (name, rename) => {
          const note = "Every use of the name in this file changes, and nothing else."
          renaming.value = { name, rename, note, onClose: () => editor.focus() }
        },
      }),
    )
    setPartEditor(editor)
    editor.focus()
    const stopProblems = effect(() => {
      const found = partCompilation.value
      if (found !== null && shownPart.value === path) editor.show(found)
    })
    const stopServed = effect(() => editor.setReadOnly(served.value !== null))
    return () => {
      stopProblems()
      stopServed()
      setPartEditor(undefined)
      // With what was typed a moment ago.
      compileNow()
      editor.destroy()
    }
  }, [path])
  return <div class="editor" ref={host} />
}
