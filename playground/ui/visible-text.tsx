import type { ComponentChildren } from "preact"
import { escapeHidden } from "../../src/base/visible-text.ts"

interface VisibleTextProps {
  readonly text: string
  /** All of an element with `dir="auto"`, which does not look into a `bdi` for its direction. */
  readonly isAlone?: boolean
}

/** A text that others wrote: characters that cannot be seen, or turn the direction of writing, are marked. Its lines stay lines. */
export function VisibleText({ text, isAlone = false }: VisibleTextProps) {
  const parts: ComponentChildren[] = []
  let from = 0
  escapeHidden(text, (code, character, at) => {
    if (character === "\n" || character === "\t") return character
    parts.push(text.slice(from, at), <HiddenCharacter key={at} code={code} />)
    from = at + character.length
    return ""
  })
  const shown = [...parts, text.slice(from)]
  if (isAlone) return <>{shown}</>
  // On its own: a text that runs from right to left leaves what stands beside it in its place.
  return <bdi>{shown}</bdi>
}

function HiddenCharacter({ code }: { readonly code: number }) {
  const hex = code.toString(16).padStart(4, "0")
  return (
    <Marked
      title={`A character that cannot be seen, U+${hex.toUpperCase()}`}
      text={hex.length > 4 ? `\\u{${hex}}` : `\\u${hex}`}
    />
  )
}

/** An escape in place of a character. */
export function Marked({ text, title }: { readonly text: string; readonly title: string }) {
  return (
    <mark class="hidden-character" title={title}>
      {text}
    </mark>
  )
}
