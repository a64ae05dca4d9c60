import { useLayoutEffect, useRef, useState } from "preact/hooks"
import type { Renaming } from "./renaming.ts"
import { renaming } from "./renaming.ts"
import { Dialog } from "../ui/dialog.tsx"

export function RenameDialog() {
  const asked = renaming.value
  return asked === null ? null : <RenameForm {...asked} />
}

function RenameForm({ name, rename, note, title, onClose }: Renaming) {
  const [text, setText] = useState(name)
  const [wrong, setWrong] = useState<string | undefined>(undefined)
  const field = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => field.current?.select(), [])
  const close = (): void => {
    renaming.value = null
    onClose?.()
  }
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    const problem = await rename(text.trim())
    setWrong(problem)
    if (problem === undefined) close()
  }
  return (
    <Dialog title={title ?? `Rename ${name}`} onClose={close}>
      <form onSubmit={(event) => void send(event)}>
        <div class="dialog-body">
          <label for="new-name">{title === undefined ? "New name" : "Path"}</label>
          <input
            id="new-name"
            ref={field}
            class="field mono"
            autocomplete="off"
            spellcheck={false}
            aria-invalid={wrong !== undefined}
            aria-describedby="new-name-note"
            value={text}
            onInput={(event) => {
              setText(event.currentTarget.value)
              setWrong(undefined)
            }}
          />
          <p id="new-name-note" class={wrong === undefined ? "hint-text" : "wrong-text"}>
            {wrong ?? note}
          </p>
        </div>
        <footer>
          <button type="button" class="button outlined" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="button primary">
            {title === undefined ? "Rename" : "Add"}
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
