import type { Question } from "../log/events.ts"
import { next, pageFields, defaultLimit } from "./page.ts"
import { json, route } from "./route.ts"
import {
  anyObject,
  anything,
  array,
  closed,
  integer,
  maybe,
  named,
  nullable,
  object,
  oneOf,
  optional,
  string,
  time,
  type Schema,
  type Shape,
} from "./schema.ts"

const questionStatus = ["open", "answered", "expired", "withdrawn"] as const

/** A question as it is asked. */
export const askedFields = {
  id: string(),
  run_id: string(),
  kind: oneOf(["ask", "approval", "elicitation"]),
  scope: optional(string({ description: "The call of a workflow in which it is asked, where it is in one." })),
  name: string({ description: "The name of the step, or the declared name of the tool or of the workflow." }),
  iteration: optional(integer({ description: "Inside a loop, counted from 0." })),
  items: optional(array(integer(), { description: "Of a call in lists: its positions in them, the outermost first." })),
  question: string(),
  show: anything({ description: "For the person to look at." }),
  to: nullable(string(), { description: "The group that answers, or a label." }),
  schema: anyObject({ description: "JSON Schema of the answer." }),
  tool: optional(string({ description: "For an approval or an elicitation: the tool's name on its server." })),
  server: optional(string()),
  endpoint: optional(string()),
  workflow: optional(string({ description: "In place of tool and server: the declared name of a workflow." })),
  file: optional(string({ description: "The file of that workflow." })),
  arguments: optional(anyObject({ description: "As they would be sent; secrets by name." })),
  digest: optional(string({ description: "Digest of everything that an approval allows; the answer repeats it." })),
  asked_at: time,
  expires_at: time,
}

export const answeredBy = object({ caller: nullable(string()), by: nullable(string()) })

export const question: Schema<Question> = named(
  "Question",
  object({
    ...askedFields,
    status: oneOf(questionStatus, { description: "`withdrawn`: the run ended while it was open." }),
    answer: optional(anything()),
    answered_by: optional({
      ...answeredBy,
      description: "`caller` is null without keys; `by` is the label that came with the answer.",
    }),
    answered_at: optional(time),
  }),
)

export type QuestionsAnswer = Shape<typeof questions>

const questions = named("Questions", object({ questions: array(question), next }))

export type AnswerBody = Shape<typeof answerBody>

const answerBody = closed({
  answer: anything({ description: "Must fit the question's `schema`; fields that may be null can be left out." }),
  digest: maybe(string({ description: "For an approval: the digest of the question." })),
  by: maybe(string({ maxLength: 200, description: "A label for the person." })),
})

export const listQuestionsOfRun = route({
  id: "listQuestionsOfRun",
  method: "GET",
  path: "/execute/{run_id}/questions",
  group: "Questions",
  operators: true,
  summary: "What the run has asked people, oldest first",
  description: "Open questions and settled ones, with their answers.",
  query: closed(pageFields("as many as fit")),
  answers: { 200: json("A page of them.", questions) },
  errors: ["not_found", "run_expired"],
})

export const answerQuestion = route({
  id: "answerQuestion",
  method: "POST",
  path: "/execute/{run_id}/questions/{id}",
  group: "Questions",
  summary: "Answer a question",
  description:
    "The first answer counts. An approval also needs the question's `digest`: what is approved is what was seen.",
  body: answerBody,
  example: { answer: { publish: true }, by: "ann" },
  answers: { 200: json("The answer is stored.", question) },
  errors: ["not_found", "conflict", "run_expired", "input_error"],
})

export const listQuestions = route({
  id: "listQuestions",
  method: "GET",
  path: "/questions",
  group: "Questions",
  summary: "What the caller may answer, over all runs, oldest first",
  description: "Questions of the caller's own runs, and those to groups that the caller belongs to.",
  query: closed({
    status: optional(oneOf(questionStatus, { description: "`open` unless given." })),
    to: optional(string({ maxLength: 1000, description: "Only questions to this group, or with this label." })),
    ...pageFields(String(defaultLimit)),
  }),
  answers: { 200: json("A page of them.", questions) },
})
