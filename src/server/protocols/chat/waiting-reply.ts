import { isJsonObject } from "../../../base/is-json-object.ts"
import type { Question, WaitingFor } from "../../../log/events.ts"

/** More are counted. */
const maxShown = 5

/** The reply for a run that waits: the questions, where to answer them, and what else it waits for. */
export function waitingReply(
  run_id: string,
  questions: readonly Question[],
  { waits, batches, budget, questions: ids }: WaitingFor,
  answersNext: boolean,
): string {
  const lines = questions.slice(0, maxShown).map((question) => {
    return `${question.question}\n\n${placeOf(run_id, question, answersNext && questions.length === 1)}`
  })
  const more = questions.length - lines.length
  if (more > 0) lines.push(`${more} more: GET /execute/${run_id}/questions`)
  if (lines.length === 0 && ids.length > 0)
    lines.push(`The run waits for people: GET /execute/${run_id}/questions shows what they are asked.`)
  for (const wait of waits.slice(0, maxShown)) lines.push(sentenceOf(wait))
  if (waits.length > maxShown) lines.push(`${waits.length - maxShown} more: GET /execute/${run_id}`)
  if (batches.length > 0) lines.push("The run waits for a batch of model calls.")
  if (budget !== undefined) lines.push(`The run waits for the budget ${budget.path}, until ${budget.resets_at}.`)
  return lines.join("\n\n")
}

/** The metadata of such a reply: the question that is answered first; nothing where no person is asked. */
export function questionIn({ questions: [question_id] }: WaitingFor): Readonly<Record<string, string>> {
  return question_id === undefined ? {} : { question_id }
}

function sentenceOf({ name, event, key, until }: WaitingFor["waits"][number]): string {
  if (event === undefined) return `The run waits until ${until} (${name}).`
  return `The run waits for the event ${event}${key === undefined || key === "" ? "" : ` of ${key}`} (${name}).`
}

function placeOf(run_id: string, { id, kind, to }: Question, answersNext: boolean): string {
  const address = `POST /execute/${run_id}/questions/${id}`
  const who = to === null ? "" : ` It is for ${to}.`
  if (kind === "approval") return `(Approve or decline it at ${address}.${who})`
  return answersNext ? `(Answer with your next message, or at ${address}.${who})` : `(Answer it at ${address}.${who})`
}

export type TextAnswer = { readonly field: string; readonly type: "string" | "boolean" }

/** The one string or boolean field that answers a question; null for an approval, and for other answers. */
export function textAnswerOf({ kind, schema }: Question): TextAnswer | null {
  const properties = schema["properties"]
  if (kind !== "ask" || !isJsonObject(properties)) return null
  const [only, ...more] = Object.entries(properties)
  if (only === undefined || more.length > 0) return null
  const [field, described] = only
  if (!isJsonObject(described)) return null
  // A field that may be null has its type beside that of null.
  const choices = Array.isArray(described["anyOf"]) ? described["anyOf"].filter(isJsonObject) : [described]
  const [choice, ...others] = choices.filter(({ type }) => type !== "null")
  if (choice === undefined || others.length > 0 || "enum" in choice) return null
  const { type } = choice
  return type === "string" || type === "boolean" ? { field, type } : null
}

const booleans: Readonly<Record<string, boolean>> = { true: true, yes: true, false: false, no: false }

/** A message as the answer's value; undefined where it is not one. */
export function readAnswer({ type }: TextAnswer, message: string): string | boolean | undefined {
  if (type === "string") return message
  const word = message.trim().toLowerCase().replace(/[.!]$/, "")
  return Object.hasOwn(booleans, word) ? booleans[word] : undefined
}
