import { computed, effect, signal } from "@preact/signals"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { visibleText } from "../../src/base/visible-text.ts"
import { defaultsIn, formIn } from "../../src/log/elicitation-answer.ts"
import type { Question } from "../../src/log/events.ts"
import { fromJsonSchema } from "../../src/types/from-json-schema.ts"
import type { ReadSchema } from "../../src/types/from-json-schema.ts"
import { maybe } from "../../src/types/relations.ts"
import type { DraftObject } from "../form/draft.ts"
import { isDraftObject, unansweredValue } from "../form/draft.ts"
import { paneTab, resultTab } from "../page/layout.ts"
import { announce, notify } from "../page/notices.ts"
import { shownRun, watchWhole } from "../shown-run/shown-run.ts"
import { asksForKey, client, toWireError } from "../service/service.ts"

/** The open questions of the shown run, oldest first. */
export const openQuestions = computed((): readonly Question[] => {
  return (watchWhole()?.state.questions ?? []).filter(({ status }) => status === "open")
})

/** What was typed for each question: it stays while another tab is looked at. */
const drafts = signal<Readonly<Record<string, DraftObject>>>({})
/** The questions whose answer is on its way, and what the service said to the last try. */
export const sending = signal<ReadonlySet<string>>(new Set())
export const refusals = signal<Readonly<Record<string, readonly string[]>>>({})

const schemas = new WeakMap<object, ReadSchema>()

/** The type of the answer; of what a server asks, that of its content. */
export function answerType({ kind, schema }: Question): ReadSchema {
  let read = schemas.get(schema)
  if (read === undefined)
    schemas.set(schema, (read = kind === "elicitation" ? formType(schema) : fromJsonSchema(schema)))
  return read
}

function formType(schema: JsonObject): ReadSchema {
  const form = formIn(schema)
  const { type, types } = fromJsonSchema(form ?? {})
  if (type.kind !== "record") return { type: { kind: "record", fields: [] }, types }
  const required = Array.isArray(form?.["required"]) ? form["required"] : []
  const fields = type.fields.map((field) => ({
    ...field,
    type: required.includes(field.name) ? field.type : maybe(field.type),
  }))
  return { type: { kind: "record", fields }, types }
}

export function draftOf(question: Question): DraftObject {
  const kept = drafts.value[question.id]
  if (kept !== undefined) return kept
  const { type, types } = answerType(question)
  const blank = unansweredValue(type, types)
  const usual = question.kind === "elicitation" ? defaultsIn(question.schema) : (question.prefill ?? {})
  return isDraftObject(blank) ? { ...blank, ...usual } : {}
}

export function setDraft({ id }: Question, draft: DraftObject): void {
  drafts.value = { ...drafts.value, [id]: draft }
}

/** Brings the questions into view. */
export function showQuestions(): void {
  paneTab.value = "results"
  resultTab.value = "questions"
}

/** A question that was asked and answered long ago passes by in a moment when a run is found again. */
const moment = 200

/** Brings new questions of the shown run into view, where the timeline is, and announces them. */
export function watchQuestions(): void {
  const seen = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined
  // A run that asks nobody has no such tab.
  effect(() => {
    const asksNobody = (shownRun.value?.state.questions.length ?? 0) === 0
    if (asksNobody && resultTab.peek() === "questions") resultTab.value = "timeline"
  })
  effect(() => {
    if (!openQuestions.value.some(({ id }) => !seen.has(id))) return
    timer ??= setTimeout(() => {
      timer = undefined
      const fresh = openQuestions.value.filter(({ id }) => !seen.has(id))
      for (const { id } of fresh) seen.add(id)
      const [first] = fresh
      if (first === undefined) return
      if (resultTab.value === "timeline") resultTab.value = "questions"
      announce(
        fresh.length === 1
          ? `A question: ${visibleText(first.question)}`
          : `${fresh.length} questions wait for an answer.`,
      )
    }, moment)
  })
}

/** The card of the first open question of a step. */
export function questionOf(node: string): Question | undefined {
  return openQuestions.value.find(({ kind, name }) => kind === "ask" && node === `ask.${name}`)
}

export function cardId({ id }: Question): string {
  return `question-${id}`
}

/** Brings a card into view and puts the keyboard into it. */
export function goToQuestion(question: Question): void {
  showQuestions()
  requestAnimationFrame(() => document.getElementById(cardId(question))?.focus())
}

/** Takes the keyboard to the next open question, unless it has left the one that was answered. */
function goOn(answered: Question): void {
  const { activeElement, body } = document
  const isHere = activeElement === body || document.getElementById(cardId(answered))?.contains(activeElement) === true
  const next = openQuestions.value.find(({ id }) => id !== answered.id)
  if (isHere && next !== undefined) goToQuestion(next)
}

/** Sends an answer. What became of it comes with the run's events, as it does for everybody who looks on. */
export async function sendAnswer(question: Question, answer: JsonValue): Promise<void> {
  const { id, run_id, digest } = question
  sending.value = new Set([...sending.value, id])
  setRefusal(id, undefined)
  try {
    await client().answer(run_id, id, { answer, ...(digest !== undefined && { digest }) })
    announce("Answered.")
    goOn(question)
  } catch (error) {
    if (asksForKey(error, () => void sendAnswer(question, answer))) return
    const { message, issues } = toWireError(error)
    const texts = issues.map((issue) => issue.message)
    setRefusal(id, texts.length < 2 ? [message] : texts)
    announce(`Not answered: ${message}`)
    if (document.getElementById(cardId(question)) === null) notify(`Not answered: ${message}`, "wrong")
  } finally {
    sending.value = new Set([...sending.value].filter((other) => other !== id))
  }
}

function setRefusal(id: string, messages: readonly string[] | undefined): void {
  const { [id]: _, ...others } = refusals.value
  refusals.value = messages === undefined ? others : { ...others, [id]: messages }
}
