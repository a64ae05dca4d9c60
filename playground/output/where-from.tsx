import type { RefObject } from "preact"
import { useEffect, useMemo, useState } from "preact/hooks"
import { planOf } from "../shown-run/changes.ts"
import type { RunView } from "../shown-run/run-view.ts"
import { select } from "../shown-run/selection.ts"
import { OriginLink } from "../trace/traced-text.tsx"
import type { FoundText, WhereFrom } from "../../src/origins/where-from.ts"
import { whereFrom } from "../../src/origins/where-from.ts"
import { Icon } from "../ui/icon.tsx"

const longestPhrase = 2_000

/** The words that are selected in a part of the page. */
function useSelectedWords(within: RefObject<HTMLElement>): string {
  const [words, setWords] = useState("")
  useEffect(() => {
    const look = (): void => {
      const selected = document.getSelection()
      const { current } = within
      if (selected === null || current === null || selected.rangeCount === 0) return
      const isHere = current.contains(selected.anchorNode) && current.contains(selected.focusNode)
      setWords(isHere ? selected.toString().trim().slice(0, longestPhrase) : "")
    }
    document.addEventListener("selectionchange", look)
    return () => document.removeEventListener("selectionchange", look)
  }, [])
  return words
}

interface WhereFromBarProps {
  readonly run: RunView
  /** The part of the page whose words can be asked about. */
  readonly within: RefObject<HTMLElement>
}

/** Once words of the result are selected: says which input, steps, tools and people they came from. */
export function WhereFromBar({ run, within }: WhereFromBarProps) {
  const words = useSelectedWords(within)
  const [asked, setAsked] = useState("")
  if (asked !== "") return <Answer run={run} phrase={asked} onClose={() => setAsked("")} />
  if (words.length < 3) return null
  return (
    <div class="where-from">
      <button
        type="button"
        class="button outlined"
        // The words stay selected.
        onMouseDown={(event) => event.preventDefault()}
        onClick={() => setAsked(words)}
      >
        <Icon name="ask" />
        <span class="cut-start">Where does “{shortened(words)}” come from?</span>
      </button>
    </div>
  )
}

function Answer({ run, phrase, onClose }: { readonly run: RunView; readonly phrase: string; onClose: () => void }) {
  const answer = useMemo(() => whereFrom(planOf(run), run.request.input, run.state, phrase), [run, phrase])
  return (
    <section class="where-from" aria-label="Where it came from">
      <header>
        <h2>Where “{shortened(phrase)}” comes from</h2>
        <button type="button" class="button square" aria-label="Close: where it came from" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <Flow answer={answer} />
      <Found answer={answer} />
    </section>
  )
}

/** The flow of data, which follows from the source. */
function Flow({ answer: { fields } }: { readonly answer: WhereFrom }) {
  if (fields.length === 0) return <p>No single field of the result has these words in a row: select fewer of them.</p>
  return (
    <ul>
      {fields.map(({ path, made }) => (
        <li key={path}>
          <code>{path}</code>
          {made === null ? (
            " has these words; the source of this run is not known here"
          ) : (
            <>
              {" is made of "}
              <OriginLink origin={made} />
            </>
          )}
        </li>
      ))}
    </ul>
  )
}

/** Texts on the way with the same words, which is likely and not sure. */
function Found({ answer: { fields, found } }: { readonly answer: WhereFrom }) {
  const written = fields.filter(({ made }) => made?.kind !== "input" && made?.kind !== "source")
  if (written.length === 0) return null
  if (found.length === 0) return <p>{nobodyWords(written.length === 1 ? written[0]?.made?.node : undefined)}</p>
  return (
    <>
      <p class="hint-text">
        The same words stand in these texts, the oldest first. A model may have had them from elsewhere.
      </p>
      <ul>
        {found.map((one) => (
          <li key={`${one.origin.label} ${one.span ?? ""}`}>
            <Way found={one} />
            {one.shared === null ? null : <span class="note"> only “{one.shared}”</span>}
          </li>
        ))}
      </ul>
    </>
  )
}

function nobodyWords(node: string | undefined): string {
  const who = node?.startsWith("agent.") === true ? `${node} read` : "the steps before it read"
  return `Nothing that ${who} has these words: a model wrote them.`
}

function Way({ found: { origin, span } }: { readonly found: FoundText }) {
  const { node } = origin
  if (node === undefined) return <OriginLink origin={origin} />
  return (
    <button type="button" class="button link" onClick={() => select({ node, ...(span !== undefined && { span }) })}>
      <code>{origin.label}</code>
    </button>
  )
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ")
  return line.length <= 60 ? line : `${line.slice(0, 59)}…`
}
