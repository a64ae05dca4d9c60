import { signal } from "@preact/signals"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import { openWorkflow } from "../files/open-workflow.ts"
import { compareRuns } from "./comparison.ts"
import type { KeptRun } from "./kept-runs.ts"
import { asksToClear, clearHistory, keptRuns, labelRun, openKept } from "./kept-runs.ts"
import type { RunRequest } from "../shown-run/run-view.ts"
import { toOptionTexts } from "../form/options.ts"
import { resultTab } from "../page/layout.ts"
import { notify } from "../page/notices.ts"
import { graphOf, shownRun } from "../shown-run/shown-run.ts"
import { keepSelection } from "../shown-run/selection.ts"
import { Icon } from "../ui/icon.tsx"
import { counted, showCost, showDuration, showMoment, showPreview, showTokens } from "../ui/show.ts"
import { StateMark } from "../ui/state-mark.tsx"

/** Ids of the runs that are ticked to be compared, at most two. */
const ticked = signal<readonly string[]>([])

/** The last runs of this browser. */
export function HistoryPane() {
  const runs = keptRuns.value
  if (runs.length === 0) {
    return (
      <p class="empty">Runs of this browser are listed here once they have ended, to look at again and to compare.</p>
    )
  }
  const chosen = ticked.value.filter((id) => runs.some(({ run_id }) => run_id === id))
  return (
    <div class="column">
      <div class="toolbar">
        <span class="note">{counted(runs.length, "run")}</span>
        <span class="tools">
          <button
            type="button"
            class="button"
            disabled={chosen.length !== 2}
            onClick={() => void compareRuns(runs.filter(({ run_id }) => chosen.includes(run_id)))}
          >
            <Icon name="compare" />
            {chosen.length === 2 ? "Compare the two" : `Tick ${2 - chosen.length} to compare`}
          </button>
          <ClearButton count={runs.length} />
        </span>
      </div>
      <ul class="scrolls run-list" tabIndex={0} aria-label="Earlier runs">
        {runs.map((run) => (
          <HistoryRow key={run.run_id} run={run} isTicked={chosen.includes(run.run_id)} />
        ))}
      </ul>
    </div>
  )
}

/** Asks once more: nothing brings the runs and their labels back. */
function ClearButton({ count }: { readonly count: number }) {
  const button = useRef<HTMLButtonElement>(null)
  const isAsking = asksToClear.value
  useEffect(() => {
    if (isAsking) button.current?.focus()
  }, [isAsking])
  const setAsking = (next: boolean): void => {
    asksToClear.value = next
  }
  return (
    <button
      ref={button}
      type="button"
      class="button"
      onBlur={() => setAsking(false)}
      onClick={() => {
        setAsking(!isAsking)
        if (isAsking) void clearHistory()
      }}
    >
      <Icon name="trash" />
      {isAsking ? `Clear ${counted(count, "run")}?` : "Clear"}
    </button>
  )
}

function HistoryRow({ run, isTicked }: { readonly run: KeptRun; readonly isTicked: boolean }) {
  const [isNaming, setNaming] = useState(false)
  const { run_id, request, status, duration_ms, tokens, cost, cutOff, asked_at, label, result } = run
  const name = request.name ?? stepsOf(request)
  const when = showMoment(asked_at)
  const title = `${label ?? name} of ${when}`
  const figures = [showDuration(duration_ms), showTokens(tokens, cutOff, "tok"), showCost(cost)]
  return (
    <li aria-current={shownRun.value?.run_id === run_id ? "true" : undefined}>
      <input
        type="checkbox"
        aria-label={`Compare ${title}`}
        checked={isTicked}
        onChange={(event) => {
          const others = ticked.value.filter((id) => id !== run_id)
          ticked.value = event.currentTarget.checked ? [...others, run_id].slice(-2) : others
        }}
      />
      <div class="run-about">
        <div class="run-head">
          {isNaming ? (
            <LabelField run={run} onEnd={() => setNaming(false)} />
          ) : (
            <button type="button" class="button link" aria-label={`Look at ${title}`} onClick={() => void look(run)}>
              {label ?? name}
            </button>
          )}
          {label === undefined || isNaming ? null : <span class="note">{name}</span>}
          <span class="note run-when">{when}</span>
        </div>
        <p class="run-preview" title={showPreview(request.input, 1_000)} dir="auto">
          <span class="visually-hidden">Input: </span>
          {Object.keys(request.input).length === 0 ? "no input" : showPreview(request.input)}
        </p>
        {result === undefined || result === "" ? null : (
          <p class="run-preview result" title={result} dir="auto">
            <span aria-hidden="true">→ </span>
            <span class="visually-hidden">Result: </span>
            {result}
          </p>
        )}
        <div class="run-foot">
          <StateMark state={status} />
          <span class="note">{figures.filter((figure) => figure !== "").join(" · ")}</span>
          <span class="tools">
            <button type="button" class="button" aria-label={`Label ${title}`} onClick={() => setNaming(true)}>
              Label
            </button>
            <button
              type="button"
              class="button"
              aria-label={`Restore the source and input of ${title}`}
              onClick={() => restore(request, name)}
            >
              Restore
            </button>
          </span>
        </div>
      </div>
    </li>
  )
}

/** Enter and leaving it keep what was typed, Escape does not. */
function LabelField({ run, onEnd }: { readonly run: KeptRun; readonly onEnd: () => void }) {
  const field = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => field.current?.select(), [])
  return (
    <input
      ref={field}
      class="field"
      aria-label="Label of this run"
      placeholder="A label of your own"
      maxLength={80}
      defaultValue={run.label ?? ""}
      onKeyDown={(event) => {
        if (event.key !== "Escape" && event.key !== "Enter") return
        const { currentTarget: input } = event
        const row = input.closest("li")
        if (event.key === "Escape") input.value = run.label ?? ""
        input.blur()
        // Back to the button that opened it.
        requestAnimationFrame(() => row?.querySelector<HTMLElement>(".run-foot button")?.focus())
      }}
      onBlur={(event) => {
        void labelRun(run, event.currentTarget.value)
        onEnd()
      }}
    />
  )
}

/** A run by its steps: `review, verdict`. */
function stepsOf({ source }: RunRequest): string {
  const names = [...source.matchAll(/^\s*agent\s+([A-Za-z_]\w*)/gm)].map(([, name]) => name)
  if (names.length === 0) return "no agents"
  return names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ")
}

function restore({ source, input, options, origin }: RunRequest, name: string): void {
  openWorkflow({ name, source, input, options: toOptionTexts(options), origin })
}

async function look(kept: KeptRun): Promise<void> {
  const run = await openKept(kept)
  if (run === undefined) {
    notify("The events of this run are not kept any more.", "wrong")
    return
  }
  graphOf.value = "run"
  keepSelection((node) => run.state.nodes.some(({ id }) => id === node), shownRun.peek()?.state)
  shownRun.value = run
  resultTab.value = "timeline"
}
