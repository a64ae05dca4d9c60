import type { Hop, OriginPath } from "../../src/origins/origin-paths.ts"
import { editor } from "../files/editor-port.ts"
import { compilation } from "../language/source.ts"
import { paneTab } from "../page/layout.ts"
import type { RunView } from "../shown-run/run-view.ts"
import { select } from "../shown-run/selection.ts"
import { nodeOfSpan } from "../../src/log/span-names.ts"
import { VisibleText } from "../ui/visible-text.tsx"

const words: Readonly<Record<Hop["kind"], string>> = {
  output: "Result",
  expression: "Expression",
  step: "Step",
  request: "Request to the model",
  source: "Source",
  input: "Input",
  tool: "Tool",
  answer: "Answer of a person",
}

const longestText = 160

/** The steps that a path leads through, for the graph. */
export function stepsOf(path: OriginPath): readonly string[] {
  return path.flatMap(({ kind, at }) => {
    if (kind === "output") return ["output"]
    return kind === "step" || kind === "answer" ? [/^\w+\.[^.[\]]+/.exec(at)?.[0] ?? at] : []
  })
}

interface OriginPathViewProps {
  readonly run: RunView
  readonly path: OriginPath
  readonly isChosen: boolean
  readonly onChoose: () => void
}

/** One way backwards, from the result to where it began. */
export function OriginPathView({ run, path, isChosen, onChoose }: OriginPathViewProps) {
  return (
    <ol class={`origin-path${isChosen ? " chosen" : ""}`} onMouseEnter={onChoose} onFocusIn={onChoose}>
      {path.map((hop, at) => (
        <li key={at}>
          <span class="hop-kind">{words[hop.kind]}</span> <Place run={run} hop={hop} />
          {hop.labels.map((label) => (
            <span key={label} class={`hop-label ${label}`}>
              {label}
            </span>
          ))}
          {hop.text === undefined || hop.text.trim() === "" ? null : (
            <q class="hop-text" dir="auto">
              <VisibleText text={shortened(hop.text)} />
            </q>
          )}
        </li>
      ))}
    </ol>
  )
}

/** The name of a place, and the way there where there is one. */
function Place({ run, hop: { kind, at } }: { readonly run: RunView; readonly hop: Hop }) {
  const go = wayTo(run, kind, at)
  const name = <code>{kind === "request" ? "as it was sent" : at}</code>
  if (go === null) return name
  return (
    <button type="button" class="button link" onClick={go}>
      {name}
    </button>
  )
}

function wayTo({ state, request }: RunView, kind: Hop["kind"], at: string): (() => void) | null {
  if (kind === "request") {
    const span = state.spans.findIndex(({ call }) => `calls/${call?.call_id ?? ""}` === at)
    const node = span < 0 ? undefined : nodeOfSpan(state, span)
    return node === undefined ? null : () => select({ node, span })
  }
  if (kind === "step" || kind === "answer") {
    const node = /^\w+\.[^.[\]]+/.exec(at)?.[0]
    return node === undefined ? null : () => select({ node })
  }
  const [, line] = /:(\d+):\d+$/.exec(at) ?? []
  if (line === undefined || compilation.value.source.text !== request.source) return null
  return () => {
    paneTab.value = "editor"
    const start = compilation.value.lines.lineStart(Number(line))
    requestAnimationFrame(() => editor()?.reveal({ start, end: start }))
  }
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim()
  return line.length <= longestText ? line : `${line.slice(0, longestText - 1)}…`
}
