import { effect } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import { requestRun } from "../run/request-run.ts"
import { setPartEditor } from "../files/editor-port.ts"
import { activeFile } from "../files/files.ts"
import { notify } from "../page/notices.ts"
import { partCompilation } from "../language/parts.ts"
import { showProblems } from "./quick-fixes.ts"
import { renaming } from "./renaming.ts"
import { served } from "../service/served.ts"
import { compileNow, filesAround, partChanged, shownPart, shownSourceNow, whenChecked } from "../language/source.ts"
import type { Editor } from "./create-editor.ts"
import { createEditor } from "./create-editor.ts"
import { languageFeatures } from "./language-features.ts"

/** The editor of the other files of the workflow, each with the history of its own changes. It is hidden while none of them is shown. */
export function PartEditor() {
  const host = useRef<HTMLDivElement>(null)
  const editor = useRef<Editor>()
  const path = shownPart.value
  /** The parts of two workflows may have the same paths. */
  const file = path === null ? null : `${activeFile.value}/${path}`
  useEffect(() => {
    if (host.current === null || file === null || path === null) return undefined
    const text = filesAround.peek().modules?.[path] ?? ""
    if (editor.current === undefined) editor.current = makeEditor(host.current, file, text)
    else editor.current.open(file, text)
    const shown = editor.current
    setPartEditor(shown)
    shown.focus()
    const stopProblems = effect(() => {
      const found = partCompilation.value
      if (found !== null && shownPart.value === path) shown.show(found)
    })
    const stopServed = effect(() => shown.setReadOnly(served.value !== null))
    return () => {
      stopProblems()
      stopServed()
      setPartEditor(undefined)
      // With what was typed a moment ago.
      compileNow()
    }
  }, [file])
  useEffect(() => () => editor.current?.destroy(), [])
  return <div class="editor" ref={host} hidden={path === null} />
}

function makeEditor(host: HTMLElement, file: string, text: string): Editor {
  const editor = createEditor(
    host,
    file,
    text,
    {
      changed: (read) => {
        const path = shownPart.peek()
        if (path !== null) partChanged(path, read)
      },
      run: requestRun,
      cursor: () => undefined,
      formatted: () => whenChecked(() => undefined),
      refused: (sentence) => notify(sentence, "wrong"),
    },
    languageFeatures({
      source: shownSourceNow,
      say: (sentence) => notify(sentence, "wrong"),
      offerFixes: showProblems,
      showProblems,
      askName: (name, rename) => {
        const note = "Every use of the name in this file changes, and nothing else."
        renaming.value = { name, rename, note, onClose: () => editor.focus() }
      },
    }),
  )
  return editor
}
