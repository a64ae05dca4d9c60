import { computed, signal } from "@preact/signals"
import { isJsonObject } from "../../src/base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { partialJson } from "../output/partial-json.ts"
import { beginRun } from "../run/follow-run.ts"
import { toJson } from "../form/draft.ts"
import { inputCheck } from "../form/input.ts"
import { fileName } from "../files/files.ts"
import { resultTab } from "../page/layout.ts"
import { optionCheck } from "../form/options.ts"
import type { RunView } from "../shown-run/run-view.ts"
import { liveRun, shownRun } from "../shown-run/shown-run.ts"
import { secretCheck } from "../form/secrets.ts"
import { served } from "../service/served.ts"
import { compilation, compileNow, filesAround, linkHasRun, origin } from "../language/source.ts"

/** A message of the user, and the run that answers it. */
export interface Exchange {
  readonly message: string
  readonly run: RunView
}

export const exchanges = signal<readonly Exchange[]>([])

/** The fields of the workflow's `chat` block; undefined without one. */
export const chatFields = computed(() => compilation.value.plan?.chat)

/** Why no message can be sent now; undefined when one can. */
export function whyNot(): string | undefined {
  if (chatFields.value === undefined) return "The workflow has no chat block, or has errors."
  if (liveRun.value !== null) return "A run is under way."
  if (secretCheck.value.misfits.length > 0) return "A secret is missing: see Secrets."
  // Where secrets of a link's workflow go is asked for once, by Run.
  if (origin.value !== "own" && !linkHasRun.value)
    return "This workflow came by a link: press Run once to agree to where it calls."
  return undefined
}

/** Sends a message: a run whose other input fields are those of the form. */
export function send(message: string): void {
  const { plan, text: source } = compileNow()
  const chat = plan?.chat
  if (chat === undefined || whyNot() !== undefined) return
  const form = inputCheck.value.value
  const input: Record<string, JsonValue> = { ...(form === null ? {} : toJson(form)), [chat.message]: message }
  if (chat.history !== undefined) input[chat.history] = historyOf(exchanges.value, chat.reply)
  const workflow = served.value?.name
  beginRun(
    {
      name: fileName.value,
      source,
      input,
      options: { ...optionCheck.value.value, deltas: true },
      origin: origin.value,
      isChat: true,
      ...(filesAround.value.modules === undefined ? {} : { around: filesAround.value }),
      ...(workflow !== undefined && { workflow }),
    },
    secretCheck.value.value,
  )
  const run = liveRun.value
  if (run !== null) exchanges.value = [...exchanges.value, { message, run }]
}

function historyOf(before: readonly Exchange[], reply: string): JsonValue {
  return before.flatMap(({ message, run }): JsonObject[] => {
    const text = replyOf(run, reply)
    if (run.state.status !== "completed" || text === undefined) return []
    return [
      { role: "user", text: message },
      { role: "assistant", text },
    ]
  })
}

/** The reply as far as it has come: the output's field, else what the agent has written of its own field. */
export function replyOf(run: RunView, reply: string): string | undefined {
  const done = isJsonObject(run.state.output) ? run.state.output[reply] : undefined
  if (typeof done === "string") return done
  const source = replySource(reply)
  const written = source === undefined ? undefined : run.texts.get(source.agent)
  const value = written === undefined ? undefined : partialJson(written.text)
  const text = isJsonObject(value) && source !== undefined ? value[source.field] : undefined
  return typeof text === "string" ? text : undefined
}

/** The agent's field that the reply is, word for word. */
function replySource(reply: string): { readonly agent: string; readonly field: string } | undefined {
  const output = compilation.value.plan?.nodes.find(({ kind }) => kind === "output")
  const value = output?.kind === "output" ? output.fields.find(({ key }) => key === reply)?.value : undefined
  if (value?.op !== "chain" || value.base.op !== "reference" || value.base.root.kind !== "agent") return undefined
  const [step, ...more] = value.steps
  if (step?.step !== "field" || more.length > 0) return undefined
  return { agent: value.base.root.name, field: step.name }
}

/** The run behind a reply, with all of its steps. */
export function showRun(run: RunView): void {
  shownRun.value = run
  resultTab.value = "timeline"
}

export function forget(): void {
  exchanges.value = []
}
