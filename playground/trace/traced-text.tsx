import { useState } from "preact/hooks"
import { editor } from "../files/editor-port.ts"
import { paneTab } from "../page/layout.ts"
import { select } from "../shown-run/selection.ts"
import { compilation } from "../language/source.ts"
import { VisibleText } from "../ui/visible-text.tsx"
import { keyOf, legendOf, shownPieces } from "./legend.ts"
import type { Origin, Piece } from "../../src/origins/origin.ts"

/** Leads to where some characters came from: the step, or the line of the source. */
function goToOrigin({ node, line }: Origin): void {
  if (node !== undefined) {
    select({ node })
    return
  }
  if (line === undefined) return
  paneTab.value = "editor"
  const start = compilation.value.lines.lineStart(line)
  requestAnimationFrame(() => editor()?.reveal({ start, end: start }))
}

export function hasPlace({ node, line }: Origin): boolean {
  return node !== undefined || line !== undefined
}

/** The pieces of a text on a line of its own: pointing at one says where it came from, a click leads there. */
export function TracedPieces({ pieces }: { readonly pieces: readonly Piece[] }) {
  return (
    <span class="traced">
      {shownPieces(pieces).map(({ text, origin }, at) =>
        origin === null ? (
          <VisibleText key={at} text={text} />
        ) : (
          <span key={at} class={`of-${origin.kind}`} title={originWords(origin)}>
            <VisibleText text={text} />
          </span>
        ),
      )}
    </span>
  )
}

/** A text whose characters say where they came from when they are pointed at, and a list of all of their origins. */
export function TracedText({ pieces }: { readonly pieces: readonly Piece[] }) {
  const [active, setActive] = useState<string | null>(null)
  return (
    <>
      <pre class="prose traced" dir="auto" onMouseLeave={() => setActive(null)}>
        {shownPieces(pieces).map(({ text, origin }, at) => {
          if (origin === null) return <VisibleText key={at} text={text} isAlone />
          const key = keyOf(origin)
          return (
            <span
              key={at}
              class={`of-${origin.kind}${key === active ? " active" : ""}`}
              title={originWords(origin)}
              onMouseEnter={() => setActive(key)}
            >
              <VisibleText text={text} isAlone />
            </span>
          )
        })}
      </pre>
      <ul class="origins" aria-label="Where it came from">
        {legendOf(pieces).map((origin) => {
          const key = keyOf(origin)
          return (
            <li
              key={key}
              class={key === active ? "active" : undefined}
              onMouseEnter={() => setActive(key)}
              onMouseLeave={() => setActive(null)}
            >
              <OriginLink origin={origin} />
            </li>
          )
        })}
      </ul>
    </>
  )
}

/** The name of an origin, and the way there where there is one. */
export function OriginLink({ origin }: { readonly origin: Origin }) {
  const name = <code class={`origin-name of-${origin.kind}`}>{origin.label}</code>
  if (!hasPlace(origin)) return name
  return (
    <button type="button" class="button link" title={originWords(origin)} onClick={() => goToOrigin(origin)}>
      {name}
    </button>
  )
}

const kindWords: Readonly<Record<Origin["kind"], string>> = {
  source: "Written in the source",
  input: "From the input",
  step: "From a step",
  tool: "From a tool, resource, prompt or workflow",
  person: "A person's answer",
  computed: "Computed",
}

function originWords({ kind, label, isGuess }: Origin): string {
  return `${kindWords[kind]}: ${label}${isGuess === true ? " (the same words stand there)" : ""}`
}
