import { useId, useState } from "preact/hooks"
import type { JsonValue } from "../../src/base/json-value.ts"
import { isJsonObject } from "../../src/base/is-json-object.ts"
import type { Span } from "../../src/log/run-state.ts"
import { requestRerun } from "../run/request-run.ts"
import { earlierRun } from "../shown-run/changes.ts"
import type { RunView } from "../shown-run/run-view.ts"
import { Icon } from "../ui/icon.tsx"

interface ChangeResultProps {
  readonly run: RunView
  readonly span: Span
  /** The output of the step, or the answer to its question. */
  readonly result: JsonValue
}

/** Another result in place of that of a step: a new run goes on with it, beside this one. */
export function ChangeResult({ run, span, result }: ChangeResultProps) {
  const [text, setText] = useState<string | null>(null)
  const [problem, setProblem] = useState("")
  const id = useId()
  const step = stepOf(span)
  if (step === null || earlierRun.value !== (run.whole ?? run) || isCut(result)) return null
  // The server's own workflows take no results from callers.
  if (run.request.workflow !== undefined) return null
  if (text === null) {
    return (
      <button type="button" class="button outlined" onClick={() => setText(JSON.stringify(result, null, 2))}>
        <Icon name="pencil" />
        Change it and run on
      </button>
    )
  }
  const go = (): void => {
    try {
      requestRerun([], { [step]: JSON.parse(text) as JsonValue })
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <div class="change-result">
      <label for={id}>
        Result of <code>{step}</code> in the new run
      </label>
      <textarea
        id={id}
        class="field mono"
        rows={Math.min(16, text.split("\n").length + 1)}
        spellcheck={false}
        aria-invalid={problem !== ""}
        value={text}
        onInput={({ currentTarget: { value } }) => {
          setText(value)
          setProblem("")
        }}
      />
      {problem === "" ? null : (
        <p class="wrong-text" role="alert">
          Not JSON: {problem}
        </p>
      )}
      <p class="hint-text">The steps before it are taken over, and those that read it run again.</p>
      <div class="details-tools">
        <button type="button" class="button outlined" onClick={go}>
          <Icon name="play" />
          Run on with it
        </button>
        <button type="button" class="button" onClick={() => setText(null)}>
          Cancel
        </button>
      </div>
    </div>
  )
}

/** The step's name in `given` of a re-run; null for a span that is no step. */
function stepOf({ kind, name, iteration, call_id, state }: Span): string | null {
  if (state !== "completed") return null
  const item = iteration === undefined ? "" : `[${iteration}]`
  if (kind === "agent" || kind === "iteration") return `agent.${name}${item}`
  return kind === "ask" && call_id === undefined ? `ask.${name}${item}` : null
}

/** A value that events show by its size only. */
function isCut(value: JsonValue): boolean {
  return isJsonObject(value) && value["truncated"] === true && typeof value["bytes"] === "number"
}
