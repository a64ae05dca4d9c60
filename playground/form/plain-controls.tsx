import { useState } from "preact/hooks"
import type { Draft } from "./draft.ts"

interface ControlProps {
  readonly id: string
  readonly "aria-invalid": boolean
  readonly "aria-describedby": string | undefined
  readonly "aria-label": string | undefined
  readonly value: Draft
  readonly onChange: (value: Draft) => void
}

/** A number as text, so that a wrong number is reported instead of vanishing. */
export function NumberControl({ whole, value, onChange, ...common }: ControlProps & { readonly whole: boolean }) {
  const [text, setText] = useState(textOf(value))
  const shown = numberOf(text) === value ? text : textOf(value)
  return (
    <input
      {...common}
      class="field"
      inputMode={whole ? "numeric" : "decimal"}
      value={shown}
      onInput={(event) => {
        setText(event.currentTarget.value)
        onChange(numberOf(event.currentTarget.value))
      }}
    />
  )
}

/** A value as a control for plain text shows it. */
export function textOf(value: Draft): string {
  return value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value)
}

/** The number in a text; the text itself if it is not a number, so that it is reported. */
function numberOf(text: string): Draft {
  const written = text.trim().replaceAll("_", "")
  if (written === "") return undefined
  return /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(written) ? Number(written) : text
}

/** Any object, as JSON. */
export function JsonControl({ value, onChange, ...common }: ControlProps) {
  const [typed, setTyped] = useState("")
  const read = parsed(typed)
  // Otherwise something else has set the value, such as a run from the history.
  const isTyped = read === undefined ? value === typed : JSON.stringify(read) === JSON.stringify(value)
  const broken = isTyped && read === undefined
  return (
    <>
      <textarea
        dir="auto"
        {...common}
        aria-invalid={broken || common["aria-invalid"]}
        class="field mono"
        rows={3}
        value={isTyped ? typed : (JSON.stringify(value, null, 2) ?? "")}
        onInput={(event) => {
          const next = event.currentTarget.value
          const value = parsed(next)
          setTyped(next)
          onChange(value === undefined ? next : value)
        }}
      />
      {broken ? <p class="wrong-text">This is not JSON yet.</p> : null}
    </>
  )
}

/** The JSON in a text; undefined where it is not JSON. */
function parsed(text: string): Draft {
  try {
    return JSON.parse(text) as Draft
  } catch {
    return undefined
  }
}
