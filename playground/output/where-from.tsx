import type { RefObject } from "preact"
import { useEffect, useState } from "preact/hooks"
import type { OriginPath } from "../../src/origins/origin-paths.ts"
import { ask } from "../language/ask.ts"
import { planOf, sourceOf } from "../shown-run/changes.ts"
import type { RunView } from "../shown-run/run-view.ts"
import { tracedSteps } from "../shown-run/selection.ts"
import { Icon } from "../ui/icon.tsx"
import { counted } from "../ui/show.ts"
import { askedOrigin, type AskedOrigin } from "./asked-origin.ts"
import { fieldsWith, type FieldWith } from "./fields-with.ts"
import { OriginPathView, stepsOf } from "./origin-path.tsx"

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

/** Once words of the result are selected: shows the ways on which they came, from the source, the input, tools and people. */
export function WhereFromBar({ run, within }: WhereFromBarProps) {
  const words = useSelectedWords(within)
  const [asked, setAsked] = useState(askedOrigin.peek())
  if (asked !== null) return <Answer run={run} asked={asked} onAsk={setAsked} />
  if (words.length < 3) return null
  const fields = fieldsWith(run.state.output, words)
  return (
    <div class="where-from">
      <button
        type="button"
        class="button outlined"
        // The words stay selected.
        onMouseDown={(event) => event.preventDefault()}
        onClick={() => setAsked({ path: fields[0]?.path ?? "output", phrase: words })}
      >
        <Icon name="ask" />
        <span class="cut-start">Where does “{shortened(words)}” come from?</span>
      </button>
    </div>
  )
}

interface AnswerProps {
  readonly run: RunView
  readonly asked: AskedOrigin
  readonly onAsk: (next: AskedOrigin | null) => void
}

function Answer({ run, asked, onAsk }: AnswerProps) {
  const { path, phrase } = asked
  useEffect(() => {
    askedOrigin.value = asked
    // What was asked of a run is not asked of the next.
    return () => {
      askedOrigin.value = null
    }
  }, [asked])
  const fields: readonly FieldWith[] = phrase === undefined ? [{ path }] : fieldsWith(run.state.output, phrase)
  const field = fields.find((one) => one.path === path)
  const what = phrase === undefined ? path : `“${shortened(phrase)}”`
  return (
    <section class="where-from" aria-label="Where it came from">
      <header>
        <h2>Where {what} comes from</h2>
        <button type="button" class="button square" aria-label="Close: where it came from" onClick={() => onAsk(null)}>
          <Icon name="close" />
        </button>
      </header>
      {fields.length < 2 ? null : (
        <div class="toolbar" role="group" aria-label="Field">
          {fields.map((one) => (
            <button
              key={one.path}
              type="button"
              class="button"
              aria-pressed={one.path === path}
              onClick={() => onAsk({ ...asked, path: one.path })}
            >
              <code>{one.path}</code>
            </button>
          ))}
        </div>
      )}
      {field === undefined ? (
        <p>No single field of the result has these words in a row: select fewer of them.</p>
      ) : (
        <Paths key={`${path} ${phrase ?? ""}`} run={run} field={field} />
      )}
    </section>
  )
}

const shownAtFirst = 3

/** The ways on which a field, or a part of its text, came; the graph marks the one that is chosen. */
function Paths({ run, field }: { readonly run: RunView; readonly field: FieldWith }) {
  const [paths, setPaths] = useState<readonly OriginPath[] | null | undefined>(undefined)
  const [chosen, setChosen] = useState(0)
  const [count, setCount] = useState(shownAtFirst)
  useEffect(() => {
    if (planOf(run) === null) return setPaths(null)
    const { input } = run.request
    const about = { input, state: run.state, path: field.path, part: field.part ?? {} }
    ask("origins", sourceOf(run.request), about).then(setPaths, () => setPaths(null))
  }, [])
  useEffect(() => {
    tracedSteps.value = new Set(stepsOf(paths?.[chosen] ?? []))
    return () => {
      tracedSteps.value = new Set()
    }
  }, [paths, chosen])
  if (paths === undefined) return <p class="note">Looking…</p>
  if (paths === null) return <p>The source of this run is not known here, so that its ways cannot be followed.</p>
  if (paths.length === 0) return <p>Nothing is known of where it came from.</p>
  return (
    <>
      <ol class="origin-paths" aria-label="Ways">
        {paths.slice(0, count).map((path, at) => (
          <li key={at}>
            <OriginPathView run={run} path={path} isChosen={at === chosen} onChoose={() => setChosen(at)} />
          </li>
        ))}
      </ol>
      {paths.length <= count ? null : (
        <button type="button" class="button" onClick={() => setCount(paths.length)}>
          Show {counted(paths.length - count, "more way")}
        </button>
      )}
    </>
  )
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ")
  return line.length <= 60 ? line : `${line.slice(0, 59)}…`
}
