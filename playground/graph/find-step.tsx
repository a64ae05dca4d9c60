import { useRef, useState } from "preact/hooks"
import { select } from "../state/selection.ts"
import { allSteps } from "./graph-model.ts"

/** From this many steps on they can be searched for. */
export const findsFrom = 12

/** A field that selects the next step with what was typed in its name: Enter, or Shift+Enter for the one before. */
export function FindStep({ onFound }: { readonly onFound: (id: string) => void }) {
  const [text, setText] = useState("")
  const last = useRef(-1)
  const wanted = text.trim().toLowerCase()
  const found = wanted === "" ? [] : allSteps.value.filter(({ id }) => id.toLowerCase().includes(wanted))
  const go = (step: number): void => {
    const at = (last.current + step + found.length) % found.length
    const node = found[at]
    if (node === undefined) return
    last.current = at
    select({ node: node.id })
    onFound(node.id)
  }
  return (
    <span class="find-step">
      <input
        type="search"
        class="field"
        aria-label="Find a step"
        placeholder="Find a step"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value)
          last.current = -1
        }}
        onKeyDown={(event) => {
          event.stopPropagation()
          if (event.key === "Enter" && found.length > 0) go(event.shiftKey ? -1 : 1)
        }}
      />
      {wanted === "" ? null : <span class="note">{found.length === 0 ? "none" : found.length}</span>}
    </span>
  )
}
