import { useMemo } from "preact/hooks"
import { planOf } from "../state/changes.ts"
import { copyText } from "../state/copy.ts"
import { Fault } from "../output/fault.tsx"
import type { RunView } from "../state/run-view.ts"
import { Icon } from "../ui/icon.tsx"
import { counted } from "../ui/show.ts"
import { Part, Value } from "./part.tsx"
import type { RebuiltRequest } from "./rebuilt-request.ts"
import { errorAfter, reasonAfter, rebuildAnswer, rebuildRequest } from "./rebuilt-request.ts"

/** What a model was asked in one call, and what it answered. */
export function ModelCall({ run, at }: { readonly run: RunView; readonly at: number }) {
  const { state } = run
  const request = useMemo(
    () => rebuildRequest(planOf(run), run.request.input, state, at),
    [run, at, state.last_event_id],
  )
  const answer = rebuildAnswer(state, at)
  const call = state.spans[at]
  const isFailed = call?.state === "failed"
  const reason = isFailed ? reasonAfter(state, at) : undefined
  const error = errorAfter(state, at)
  return (
    <>
      {reason === undefined ? null : (
        <Part title="Why it was made again" copy={reason}>
          <p class="wraps">{reason}</p>
        </Part>
      )}
      {error === undefined ? null : <Fault error={error} />}
      {answer === undefined ? null : <Value title={isFailed ? "Answer, rejected" : "Answer"} value={answer} />}
      {request === null ? null : <Request request={request} model={call?.call?.id ?? call?.call?.model} />}
    </>
  )
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
          <h3>Request, {counted(messages.length, "message")}</h3>
          <button type="button" class="button" onClick={() => void copyText(JSON.stringify(whole, null, 2), "Request")}>
            <Icon name="copy" />
            Copy all
          </button>
        </header>
        {missing.length === 0 ? null : (
          <p class="hint-text">Rebuilt from the events, which do not carry {missing.join("; ")}.</p>
        )}
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
