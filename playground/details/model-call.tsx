import { useMemo } from "preact/hooks"
import { planOf } from "../shown-run/changes.ts"
import { copyText } from "../share/copy.ts"
import { Fault } from "../output/fault.tsx"
import type { RunView } from "../shown-run/run-view.ts"
import { tracedProgram } from "../trace/traced-program.ts"
import { requestTracer } from "../../src/origins/trace-request.ts"
import { TracedPieces } from "../trace/traced-text.tsx"
import { Icon } from "../ui/icon.tsx"
import type { TextView } from "../values/json-tree.tsx"
import { counted } from "../ui/show.ts"
import { Part, Value } from "./part.tsx"
import type { RebuiltRequest } from "./rebuilt-request.ts"
import { errorAfter, reasonAfter, rebuildAnswer, rebuildRequest, rejectionsAfter } from "./rebuilt-request.ts"
import { Rejections } from "./rejections.tsx"
import { SentRequest } from "./sent-request.tsx"

/** What a model was asked in one call, and what it answered. */
export function ModelCall({ run, at }: { readonly run: RunView; readonly at: number }) {
  const { state } = run
  const request = useMemo(
    () => rebuildRequest(planOf(run), run.request.input, state, at),
    [run, at, state.last_event_id],
  )
  const view = useMemo(() => textView(run, at), [run, at, state.last_event_id])
  const answer = rebuildAnswer(state, at)
  const call = state.spans[at]
  const isFailed = call?.state === "failed"
  const reason = isFailed ? reasonAfter(state, at) : undefined
  const error = errorAfter(state, at)
  const rejections = rejectionsAfter(state, at)
  const agent = state.spans[call?.parent ?? -1]?.name ?? ""
  return (
    <>
      {rejections === undefined ? null : <Rejections run={run} agent={agent} rejections={rejections} />}
      {reason === undefined || rejections !== undefined ? null : (
        <Part title="Why it was retried" copy={reason}>
          <p class="wraps" dir="auto">
            {reason}
          </p>
        </Part>
      )}
      {error === undefined ? null : <Fault error={error} />}
      {answer === undefined ? null : <Value title={isFailed ? "Answer, rejected" : "Answer"} value={answer} />}
      <SentRequest run_id={run.run_id} call_id={call?.call?.call_id} lastEvent={state.last_event_id} view={view}>
        {request === null ? null : <Request request={request} model={call?.call?.id ?? call?.call?.model} />}
      </SentRequest>
    </>
  )
}

/** Shows where the texts of a request came from, for a run whose source is known. */
function textView(run: RunView, at: number): TextView | undefined {
  const traced = tracedProgram(run)
  if (traced === null) return undefined
  const trace = requestTracer(traced, run.request.input, run.state, at)
  return (text) => {
    const pieces = trace(text)
    return pieces === null ? null : <TracedPieces pieces={pieces} />
  }
}

interface RequestProps {
  readonly request: RebuiltRequest
  readonly model: string | undefined
}

function Request({ request, model }: RequestProps) {
  const { system, isSystemWritten, messages, tools, schema, settings, missing } = request
  const whole = { ...(model !== undefined && { model }), system, messages, tools, schema, settings }
  return (
    <>
      <section class="part">
        <header>
          <h3>Request, rebuilt: {counted(messages.length, "message")}</h3>
          <button type="button" class="button" onClick={() => void copyText(JSON.stringify(whole, null, 2), "Request")}>
            <Icon name="copy" />
            Copy all
          </button>
        </header>
        <p class="hint-text">
          The service does not have the request. This is rebuilt from the events, and may differ from what was sent
          {missing.length === 0 ? "" : `: they do not carry ${missing.join("; ")}`}.
        </p>
      </section>
      {system === null ? null : <Value title={isSystemWritten ? "System, as written" : "System"} value={system} />}
      {messages.map(({ role, of, content }, at) => (
        // Messages are only ever added.
        <Value key={at} title={`${role}: ${of}`} value={content} />
      ))}
      {tools.map(({ name, description, parameters }) => (
        <Value
          key={name}
          title={`Tool: ${name}`}
          value={{
            ...(description !== null && { description }),
            parameters: parameters ?? "as its server describes them",
          }}
          open={0}
        />
      ))}
      {schema === null ? null : <Value title="Output schema" value={schema} open={0} />}
      {Object.keys(settings).length === 0 ? null : <Value title="Settings" value={settings} />}
    </>
  )
}
