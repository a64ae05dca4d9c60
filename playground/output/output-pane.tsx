import { signal } from "@preact/signals"
import { reconnect } from "../run/follow-run.ts"
import type { RunView } from "../state/run-view.ts"
import { watchShown } from "../state/runs.ts"
import { copyText, downloadText } from "../state/copy.ts"
import { Icon } from "../ui/icon.tsx"
import { JsonTree } from "../ui/json-tree.tsx"
import { showBytes } from "../ui/show.ts"
import { BeingWritten } from "./being-written.tsx"
import { Fault } from "./fault.tsx"

const shape = signal<"tree" | "raw">("tree")

/** More than this of raw JSON would only slow the page down; copy and download have all of it. */
const mostShown = 200_000

/** The result, or why there is no result. */
export function OutputPane() {
  const run = watchShown()
  if (run === null) return <p class="empty">The result of a run appears here. Press Run to get one.</p>
  const { state } = run
  const error = run.refused ?? state.error
  if (error !== null) {
    return (
      <div class="scrolls padded" tabIndex={0} role="region" aria-label="Why the run failed">
        <Fault error={error} run={run} />
      </div>
    )
  }
  if (run.isCut) return <Lost run={run} />
  if (state.status === "cancelled") return <p class="empty">The run was cancelled, so it has no result.</p>
  if (state.status !== "completed") return <BeingWritten run={run} />
  return <Result run={run} />
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
  return (
    <div class="column">
      <div class="toolbar">
        <button
          type="button"
          class="button"
          aria-pressed={shape.value === "tree"}
          onClick={() => (shape.value = "tree")}
        >
          Tree
        </button>
        <button type="button" class="button" aria-pressed={shape.value === "raw"} onClick={() => (shape.value = "raw")}>
          Raw
        </button>
        <span class="note">{showBytes(new Blob([text]).size)}</span>
        <span class="tools">
          <button type="button" class="button" onClick={() => void copyText(text, "Output")}>
            <Icon name="copy" />
            Copy
          </button>
          <button
            type="button"
            class="button"
            onClick={() => downloadText(`${text}\n`, `${run.run_id ?? "output"}.json`, "application/json")}
          >
            <Icon name="download" />
            Download
          </button>
        </span>
      </div>
      {shape.value === "tree" ? (
        <div class="scrolls padded">
          <JsonTree key={run.asked_at} value={value} label="Output" open={3} />
        </div>
      ) : (
        <pre class="scrolls padded raw" tabIndex={0} aria-label="Output as JSON">
          {text.length > mostShown ? `${text.slice(0, mostShown)}\n… (copy or download for all of it)` : text}
        </pre>
      )}
    </div>
  )
}
