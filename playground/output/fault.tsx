import type { ApiError } from "../../src/api/error-kinds.ts"
import { requestRerun } from "../run/request-run.ts"
import { earlierRun } from "../shown-run/changes.ts"
import { faultSpan } from "./fault-span.ts"
import type { RunView } from "../shown-run/run-view.ts"
import { select, selection } from "../shown-run/selection.ts"
import { failedSpan, placeWithItem } from "../shown-run/step-state.ts"
import { editor } from "../files/editor-port.ts"
import { paneTab } from "../page/layout.ts"
import { compilation } from "../language/source.ts"
import { Icon } from "../ui/icon.tsx"
import { Sentence } from "../ui/sentence.tsx"
import { nextStep } from "./next-step.ts"
import { canBeTest, downloadTest } from "./test-file.ts"

interface FaultProps {
  readonly error: ApiError
  /** The run that failed: it names the item of the loop, and leads to the step. */
  readonly run?: RunView | null
}

/** An error as a sentence, its place in the source and the next step; the raw object stays in the events. */
export function Fault({ error, run }: FaultProps) {
  const [first] = error.issues
  const next = nextStep(error)
  const more = error.issues.filter(({ message }) => message !== "" && message !== error.message).slice(0, 5)
  return (
    <div class="fault" role="group" aria-label="Error">
      <strong>
        <Sentence text={error.message} />
      </strong>
      {first?.path === undefined || first.path === "" ? null : (
        <p>
          At <code>{run ? placeWithItem(first.path, run.state) : first.path}</code>
          {first.upstream_status === undefined ? null : `, where the backend answered ${first.upstream_status}`}.
        </p>
      )}
      {more.length === 0 ? null : (
        <ul>
          {more.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <Sentence text={message} />
            </li>
          ))}
        </ul>
      )}
      {next === undefined ? null : (
        <p>
          <Sentence text={next} />
        </p>
      )}
      <Jump error={error} />
      {run ? <FailedStep run={run} /> : null}
      {run && earlierRun.value === run ? (
        <button
          type="button"
          class="button outlined"
          title="Takes over the results of the steps that are done"
          onClick={() => requestRerun()}
        >
          <Icon name="play" />
          Run again from here
        </button>
      ) : null}
      {run && canBeTest(run) ? (
        <button
          type="button"
          class="button outlined"
          title="A .test.wire file that plays this run again, and expects its error"
          onClick={() => void downloadTest(run)}
        >
          <Icon name="download" />
          Download as test
        </button>
      ) : null}
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

function Jump({ error }: { readonly error: ApiError }) {
  const { places, lines, plan } = compilation.value
  const span = faultSpan(places, plan, error)
  if (span === undefined) return null
  const { line } = lines.position(span.start)
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
