import { question, questionStatus } from "../log/event-schemas.ts"
import { next, pageFields, defaultLimit } from "./page.ts"
import { json, route } from "./route.ts"
import {
  anything,
  array,
  closed,
  maybe,
  named,
  object,
  oneOf,
  optional,
  string,
  type Shape,
} from "../base/typed-schema.ts"

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
