import type { ApiError, ApiErrorKind } from "../../src/api/api-error.ts"
import type { ErrorIssue } from "../../src/run/events.ts"
import { isJsonObject } from "../../src/base/is-json-object.ts"
import type { JsonValue } from "../../src/base/json-value.ts"
import type { Span } from "../../src/source/span.ts"
import type { RunView } from "../state/run-view.ts"
import { select, selection } from "../state/selection.ts"
import { failedSpan, placeWithItem } from "../state/step-state.ts"
import { pathSpan } from "../state/node-span.ts"
import { editor } from "../state/editor-port.ts"
import { paneTab } from "../state/layout.ts"
import { compilation } from "../state/source.ts"
import { Icon } from "../ui/icon.tsx"

/** What to do about an error whose issues do not say it themselves. */
const nextSteps: Readonly<Partial<Record<ApiErrorKind, string>>> = {
  unauthorized: "Enter an API key of this service.",
  forbidden: "Open the playground at the service's own address, or let the operator allow this one.",
  not_found: "The service may have been restarted with an empty store. Run the workflow again.",
  run_expired: "The service keeps runs for a limited time. Run the workflow again.",
  payload_too_large: "Send less, or return less; the limits are settings of the service.",
  rate_limited: "Wait a moment, then run again.",
  internal_error: "Run it again; if it happens again, tell the operator the time and the run's id.",
  provider_error: "Check the provider's endpoint, key and model id, then run again.",
  output_error: "Make the output contract simpler or the instruction clearer, or take a stronger model.",
  tool_error: "Check the server's address and its tools, then run again.",
  blocked_destination: "The operator decides where workflows may call; ask for this host to be allowed.",
  evaluation_error: "Give the expression a default with ??, or declare the value's type.",
  limit_exceeded: "Raise the limit in the workflow, or give it less to do.",
  overloaded: "The service is busy. Wait a moment, then run again.",
  timeout: "Allow more time in Options, or ask for less.",
}

interface FaultProps {
  readonly error: ApiError
  /** Of the run that failed: names the item of the loop, and leads to the step. */
  readonly run?: RunView | null
}

/** An error as a sentence, its place in the source and the next step; the raw object stays in the events. */
export function Fault({ error, run }: FaultProps) {
  const [first] = error.issues
  const next = error.issues.find(({ hint }) => hint !== undefined)?.hint ?? nextSteps[error.kind]
  const more = error.issues.filter(({ message }) => message !== "" && message !== error.message).slice(0, 5)
  return (
    <div class="fault" role="group" aria-label="Error">
      <strong>{error.message}</strong>
      {first?.path === undefined || first.path === "" ? null : (
        <p>
          At <code>{run ? placeWithItem(first.path, run.state) : first.path}</code>
          {first.upstream_status === undefined ? null : `, where the backend answered ${first.upstream_status}`}.
        </p>
      )}
      {more.length === 0 ? null : (
        <ul>
          {more.map(({ path, message }) => (
            <li key={`${path} ${message}`}>{message}</li>
          ))}
        </ul>
      )}
      {next === undefined ? null : <p>{next}</p>}
      <Jump issues={error.issues} />
      {run ? <FailedStep run={run} /> : null}
    </div>
  )
}

/** The way to the details of the step that failed. */
function FailedStep({ run }: { readonly run: RunView }) {
  const at = failedSpan(run.state)
  const span = at === undefined ? undefined : run.state.spans[at]
  if (at === undefined || span === undefined || selection.value?.span === at) return null
  return (
    <button type="button" class="button outlined" onClick={() => select({ node: `agent.${span.name}`, span: at })}>
      Details of the failed {span.iteration === undefined ? "step" : `item [${span.iteration}]`}
    </button>
  )
}

function Jump({ issues }: { readonly issues: readonly ErrorIssue[] }) {
  const span = issues.map(placeOf).find((place) => place !== undefined)
  if (span === undefined) return null
  const { line } = compilation.value.lines.position(span.start)
  return (
    <button
      type="button"
      class="button outlined"
      onClick={() => {
        paneTab.value = "editor"
        requestAnimationFrame(() => editor()?.reveal(span))
      }}
    >
      <Icon name="jump" />
      Go to line {line}
    </button>
  )
}

function placeOf({ range, path }: ErrorIssue): Span | undefined {
  const [start, end] = [offsetOf(range, "start"), offsetOf(range, "end")]
  if (start !== undefined && end !== undefined) return { start, end }
  return path === "" ? undefined : pathSpan(compilation.value.program, path)
}

function offsetOf(range: JsonValue | undefined, side: "start" | "end"): number | undefined {
  const position = isJsonObject(range) ? range[side] : undefined
  const offset = isJsonObject(position) ? position["offset"] : undefined
  return typeof offset === "number" ? offset : undefined
}
