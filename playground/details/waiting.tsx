import { signal } from "@preact/signals"
import { useEffect, useState } from "preact/hooks"
import { planAt } from "../../src/plan/call-scope.ts"
import type { StartedWait } from "../../src/log/events.ts"
import type { RecordType, TypeTable } from "../../src/types/types.ts"
import { validateValue } from "../../src/types/validate-value.ts"
import { atField } from "../form/at-field.ts"
import { isDraftObject, toJson, unansweredValue, type DraftObject } from "../form/draft.ts"
import { emptyTexts } from "../form/empty-texts.ts"
import { FieldEditor, missing } from "../form/field-editor.tsx"
import { announce, notify } from "../page/notices.ts"
import { asksForKey, client, toWireError } from "../service/service.ts"
import { planOf } from "../shown-run/changes.ts"
import type { RunView } from "../shown-run/run-view.ts"
import type { Selection } from "../shown-run/selection.ts"
import { showDuration, showMoment } from "../ui/show.ts"
import { Part } from "./part.tsx"

/** What was typed for each wait: it stays while another step is looked at. */
const drafts = signal<Readonly<Record<string, DraftObject>>>({})

/** What the selected step waits for, with a form for each event. */
export function Waiting({ run, chosen }: { readonly run: RunView; readonly chosen: Selection }) {
  const { inner } = chosen
  const id = inner?.node ?? chosen.node
  const nodes = inner === undefined ? run.state.nodes : (run.state.inside?.[inner.scope]?.nodes ?? [])
  const waits = nodes.find((node) => node.id === id)?.awaits ?? []
  const own = waits.filter(({ iteration }) => chosen.iteration === undefined || iteration === chosen.iteration)
  if (own.length === 0) return null
  const whole = planOf(run)
  const plan = whole === null ? undefined : planAt(whole, inner?.scope)
  const node = plan?.nodes.find((one) => one.id === id)
  const type = node?.kind === "wait" && node.awaits.kind === "event" ? node.awaits.output : null
  const types = plan?.types ?? {}
  return (
    <Part title="Waits for">
      {own.map((wait) =>
        wait.until === undefined ? (
          <EventForm key={wait.id} wait={wait} type={type} types={types} />
        ) : (
          <Clock key={wait.id} until={Date.parse(wait.until)} run={run} />
        ),
      )}
    </Part>
  )
}

const dayMs = 24 * 3_600_000

function timeLeft(ms: number): string {
  return ms < 2 * dayMs ? showDuration(Math.ceil(ms / 1_000) * 1_000) : `${Math.floor(ms / dayMs)} days`
}

/** Counts down by itself: nothing else moves while a run waits. */
function Clock({ until, run }: { readonly until: number; readonly run: RunView }) {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  const left = until - (now - (run.skew ?? 0))
  return (
    <p>
      {showMoment(until)}
      {left <= 0 ? "" : `, in ${timeLeft(left)}`}
    </p>
  )
}

interface EventFormProps {
  readonly wait: StartedWait
  /** Null where the run's source is not known. */
  readonly type: RecordType | null
  readonly types: TypeTable
}

/** Sends the event that a wait is for. What became of it comes with the run's events. */
function EventForm({ wait, type, types }: EventFormProps) {
  const [tried, setTried] = useState(false)
  const [isSending, setSending] = useState(false)
  const [refusal, setRefusal] = useState<readonly string[]>([])
  const { id, event: name = "", key = "", expires_at } = wait
  const blank = type === null ? null : unansweredValue(type, types)
  const draft = drafts.value[id] ?? (isDraftObject(blank) ? blank : {})
  const misfits = type === null ? [] : validateValue(draft, type, types, "data")
  const empty = type === null ? [] : emptyTexts(draft, type, types, "data")
  const misfit = (path: string): string | undefined =>
    !tried
      ? undefined
      : empty.includes(path)
        ? missing("string")
        : atField(misfits.find((one) => one.path === path)?.message, path)
  const form = { types, misfit, scope: `${id}-`, isForPeople: true }
  const send = async (): Promise<void> => {
    setSending(true)
    setRefusal([])
    try {
      const { delivered } = await client().sendEvent({ name, key, data: toJson(draft) })
      if (delivered === 0) setRefusal(["Nothing waits for it any more."])
      else announce(delivered === 1 ? "Sent." : `Sent to ${delivered} waits.`)
    } catch (error) {
      if (asksForKey(error, () => void send())) return
      const { message, issues } = toWireError(error)
      setRefusal(issues.length === 0 ? [message] : issues.map((issue) => issue.message))
      notify(`Not sent: ${message}`, "wrong")
    } finally {
      setSending(false)
    }
  }
  const submit = (submitted: Event): void => {
    submitted.preventDefault()
    setTried(true)
    if (misfits.length === 0 && empty.length === 0) void send()
  }
  return (
    <form class="question-form" onSubmit={submit} noValidate aria-label={`Event ${name}`}>
      <p>
        <code class="wraps">{name}</code>
        {key === "" ? null : (
          <>
            {" "}
            with the key <code class="wraps">{key}</code>
          </>
        )}
        {expires_at === undefined ? null : <span class="note"> until {showMoment(Date.parse(expires_at))}</span>}
      </p>
      {type === null ? (
        <p class="note">The type of its data is not known here: send it with `wire events send`.</p>
      ) : (
        <>
          <div class="form-fields">
            {type.fields.map((field) => (
              <FieldEditor
                key={field.name}
                form={form}
                path={`data.${field.name}`}
                label={field.name}
                doc={field.doc}
                type={field.type}
                value={draft[field.name]}
                onChange={(value) => (drafts.value = { ...drafts.value, [id]: { ...draft, [field.name]: value } })}
              />
            ))}
          </div>
          {refusal.map((message) => (
            <p key={message} class="wrong-text" role="alert" dir="auto">
              {message}
            </p>
          ))}
          <div class="question-buttons">
            <button type="submit" class="button primary" disabled={isSending}>
              Send event
            </button>
          </div>
        </>
      )}
    </form>
  )
}
