import { computed } from "@preact/signals"
import { useRef, useState } from "preact/hooks"
import { everyStep, goToStep } from "./graph-model.ts"

/** From this many steps on they can be searched for. */
const findsFrom = 12

/** Also where some of them are in called workflows, whose graphs are closed. */
export const canFind = computed(() => {
  const steps = everyStep.value
  return steps.length >= findsFrom || steps.some(({ way }) => way.length > 0)
})

/**
 * A field that selects the next step with what was typed in its name: Enter, or Shift+Enter for the one before. A step of a called workflow
 * opens in the graph of the call.
 */
export function FindStep({ onFound }: { readonly onFound: (id: string) => void }) {
  const [text, setText] = useState("")
  const last = useRef(-1)
  const wanted = text.trim().toLowerCase()
  const found = wanted === "" ? [] : everyStep.value.filter(({ label }) => label.toLowerCase().includes(wanted))
  const go = (by: number): void => {
    const at = (last.current + by + found.length) % found.length
    const step = found[at]
    if (step === undefined) return
    last.current = at
    goToStep(step)
    onFound(step.node)
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
