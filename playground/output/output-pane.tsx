import { signal } from "@preact/signals"
import { useRef } from "preact/hooks"
import { reconnect } from "../run/follow-run.ts"
import { requestRerun } from "../run/request-run.ts"
import { earlierRun } from "../shown-run/changes.ts"
import type { RunView } from "../shown-run/run-view.ts"
import { watchShown } from "../shown-run/shown-run.ts"
import { copyText, downloadText } from "../share/copy.ts"
import { Icon } from "../ui/icon.tsx"
import { JsonTree } from "../values/json-tree.tsx"
import { counted, showBytes } from "../ui/show.ts"
import { BeingWritten, TextsSoFar } from "./being-written.tsx"
import { Fault } from "./fault.tsx"
import { hasProse } from "./prose.ts"
import { Reading } from "./reading.tsx"
import { WhereFromBar } from "./where-from.tsx"

type Shape = "text" | "tree" | "raw"
const shapes: readonly { readonly name: Shape; readonly label: string }[] = [
  { name: "text", label: "Text" },
  { name: "tree", label: "Tree" },
  { name: "raw", label: "Raw" },
]
/** Null until one is chosen: a result with texts is read as text, any other as a tree. */
const chosen = signal<Shape | null>(null)

/** More than this of raw JSON would only slow the page down; copy and download have all of it. */
const maxShown = 200_000

/** The result, or why there is no result. */
export function OutputPane() {
  const run = watchShown()
  if (run === null) return <p class="empty">The result of a run appears here. Press Run to get one.</p>
  const { state } = run
  const error = run.refused ?? state.error
  if (run.moment !== null && state.finished_at === null)
    return <p class="empty">At this moment of the run there was no result yet.</p>
  if (error !== null) {
    return (
      <div class="scrolls padded" tabIndex={0} role="region" aria-label="Why the run failed">
        <Fault error={error} run={run} />
      </div>
    )
  }
  if (run.isCut) return <Lost run={run} />
  if (state.status === "cancelled") return <Cancelled run={run} />
  if (state.status !== "completed") return <BeingWritten run={run} />
  return <Result run={run} />
}

function Cancelled({ run }: { readonly run: RunView }) {
  const sentence = "The run was cancelled, so it has no result."
  if (run.texts.size === 0) {
    return (
      <div class="empty">
        <p>{sentence}</p>
        <RunTheRest run={run} />
      </div>
    )
  }
  return (
    <div class="scrolls padded written" tabIndex={0} role="region" aria-label="What was written until then">
      <p>{sentence} This was written until then:</p>
      <TextsSoFar run={run} />
      <p>
        <RunTheRest run={run} />
      </p>
    </div>
  )
}

/** Goes on where a cancelled run stopped; nothing where no step had ended. */
function RunTheRest({ run }: { readonly run: RunView }) {
  const done = run.state.nodes.filter(({ state }) => state === "completed").length
  if (earlierRun.value !== run || done === 0) return null
  return (
    <button
      type="button"
      class="button outlined"
      title="A new run that takes over the results of the steps that are done"
      onClick={() => requestRerun()}
    >
      <Icon name="play" />
      Run the rest, and take over {counted(done, "step")}
    </button>
  )
}

function Lost({ run }: { readonly run: RunView }) {
  return (
    <div class="empty">
      <p>This page is not connected to the run, which may go on without it.</p>
      {run.connection === "lost" ? (
        <button type="button" class="button outlined" onClick={() => reconnect(run)}>
          Connect again
        </button>
      ) : null}
    </div>
  )
}

function Result({ run }: { readonly run: RunView }) {
  const value = run.state.output
  const text = JSON.stringify(value, null, 2)
  const shown = useRef<HTMLDivElement>(null)
  const shownRaw = useRef<HTMLPreElement>(null)
  const shape = chosen.value ?? (hasProse(value) ? "text" : "tree")
  return (
    <div class="column">
      <div class="toolbar">
        {shapes.map(({ name, label }) => (
          <button
            key={name}
            type="button"
            class="button"
            aria-pressed={shape === name}
            onClick={() => (chosen.value = name)}
          >
            {label}
          </button>
        ))}
        <span class="note">{showBytes(new Blob([text]).size)}</span>
        <span class="tools">
          <button type="button" class="button" onClick={() => void copyText(text, "Output")}>
            <Icon name="copy" />
            <span class="tool-label">Copy</span>
          </button>
          <button
            type="button"
            class="button"
            onClick={() => downloadText(`${text}\n`, `${run.run_id ?? "output"}.json`, "application/json")}
          >
            <Icon name="download" />
            <span class="tool-label">Download</span>
          </button>
        </span>
      </div>
      {shape === "text" ? (
        <div ref={shown} class="scrolls padded" tabIndex={0} role="region" aria-label="Output as text">
          <Reading value={value} label="Output" />
        </div>
      ) : shape === "tree" ? (
        <div ref={shown} class="scrolls padded">
          <JsonTree key={run.asked_at} value={value} label="Output" open={3} />
        </div>
      ) : (
        <pre ref={shownRaw} class="scrolls padded raw" tabIndex={0} aria-label="Output as JSON">
          {text.length > maxShown ? `${text.slice(0, maxShown)}\n… (copy or download for all of it)` : text}
        </pre>
      )}
      <WhereFromBar key={run.asked_at} run={run} within={shape === "raw" ? shownRaw : shown} />
    </div>
  )
}
