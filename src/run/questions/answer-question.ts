import { planAt } from "../../plan/call-scope.ts"
import { jsonEqual } from "../../base/json-equal.ts"
import type { SourceText } from "../../source/source-files.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { AskNode, Plan } from "../../plan/plan-shape.ts"
import { validateValue } from "../../types/validate-value.ts"
import { withNulls } from "../../types/with-nulls.ts"
import type { RecordType, TypeTable } from "../../types/types.ts"
import type { RunStore } from "../../ports/store.ts"
import type { AnsweredBy, ErrorIssue, Question, WireError } from "../../log/events.ts"
import type { CapturedValues, ReplayData } from "../../log/replay-data.ts"
import { RunFailure, wireError } from "../../ports/run-failure.ts"
import { EvaluationWork } from "../values/evaluation-work.ts"
import { issuesOf, rejectionsOf } from "../values/requirements.ts"
import { bytesOver } from "../values/value-size.ts"
import { redactor } from "../secrets/redact.ts"
import { secretsOfRun, type ServerSecrets } from "../secrets/secrets-of-run.ts"
import { approvalType } from "./approval-answer.ts"
import { readElicitation } from "../../log/elicitation-answer.ts"
import { runShownBytes } from "../../base/limits.ts"

export interface GivenAnswer {
  readonly answer: JsonValue
  readonly digest: string | null
  readonly answered_by: AnsweredBy
}

/** What becomes of an answer. `conflict`: it comes too late, or is about something else; a sentence says which. */
export type AnswerResult =
  | { readonly outcome: "answered"; readonly question: Question }
  | { readonly outcome: "conflict"; readonly message: string }
  | { readonly outcome: "misfit"; readonly error: WireError }

export interface AnswerParts {
  readonly store: RunStore
  readonly serverSecrets?: ServerSecrets | undefined
  planOf(source: SourceText): Promise<{ readonly plan: Plan } | { readonly error: WireError }>
}

/** Checks an answer and stores it as the question's outcome. Checks in this order: digest, status, type, requirements. */
export async function answerQuestion(
  parts: AnswerParts,
  question: Question,
  given: GivenAnswer,
): Promise<AnswerResult> {
  const { run_id, id } = question
  if (given.digest !== (question.digest ?? null))
    return { outcome: "conflict", message: digestSentence(question, given) }
  const request = await parts.store.request(run_id)
  const compiled = await parts.planOf(request)
  if ("error" in compiled) {
    return { outcome: "conflict", message: "This release does not accept the workflow of this run any more" }
  }
  const { plan } = compiled
  const read = readAnswer(question, plan, given.answer)
  const { answer } = read
  // Stores the answer as it enters the run: without the run's secrets.
  const { redact } = redactor(secretsOfRun(plan, request, parts.serverSecrets))
  const stored = redact(answer)
  const known = settled(question, stored)
  if (known !== null) return known
  if (bytesOver(stored, runShownBytes) !== null) {
    const message = `The answer has more than ${runShownBytes} bytes of JSON, which no setting raises`
    return { outcome: "misfit", error: wireError("payload_too_large", [{ path: "answer", message }]) }
  }
  const [first, ...rest] = read.issues
  if (first !== undefined) return { outcome: "misfit", error: wireError("input_error", [first, ...rest]) }
  const refused = question.kind === "ask" ? await refusedBy(parts.store, plan, question, stored) : null
  if (refused !== null) return { outcome: "misfit", error: refused }
  const outcome = await parts.store.questions.answer(run_id, id, { answer: stored, answered_by: given.answered_by })
  if (outcome === null) return { outcome: "conflict", message: sentences.withdrawn }
  if (outcome.stored) return { outcome: "answered", question: outcome.question }
  return settled(outcome.question, stored) ?? { outcome: "conflict", message: sentences.answered }
}

/** A question that has its outcome accepts the same answer again. */
function settled(question: Question, answer: JsonValue): AnswerResult | null {
  const { status } = question
  if (status === "open") return null
  if (status === "answered" && jsonEqual(question.answer ?? null, answer)) return { outcome: "answered", question }
  return { outcome: "conflict", message: sentences[status] }
}

const sentences = {
  answered: "This question has already been answered with another answer",
  expired: "This question has expired: nobody answered it in time",
  withdrawn: "This question was withdrawn: its run has ended",
}

function digestSentence({ digest }: Question, given: GivenAnswer): string {
  if (digest === undefined) return "This question has no digest: leave `digest` out"
  if (given.digest === null) return "The answer to an approval repeats the question's `digest`, which is missing"
  return "The `digest` does not match this question: the answer was meant for another call"
}

interface ReadAnswer {
  readonly answer: JsonValue
  readonly issues: readonly ErrorIssue[]
}

/** The answer as it is stored, and what is wrong with it. */
function readAnswer(question: Question, plan: Plan, given: JsonValue): ReadAnswer {
  if (question.kind === "elicitation") {
    const read = readElicitation(given, question.schema)
    return "issues" in read ? { answer: given, issues: read.issues } : { answer: read.answer, issues: [] }
  }
  const { type, types } = typeOf(question, plan)
  const { prefill = {} } = question
  const answer = withNulls(isJsonObject(given) ? { ...prefill, ...given } : given, type, types)
  const issues = validateValue(answer, type, types, "answer").map(({ path, message, hint }) =>
    hint === undefined ? { path, message } : { path, message, hint },
  )
  return { answer, issues }
}

function typeOf(question: Question, plan: Plan): { readonly type: RecordType; readonly types: TypeTable } {
  if (question.kind === "approval") return { type: approvalType, types: {} }
  const { output, own } = askNode(question, plan)
  return { type: output, types: own.types }
}

/** The step that asks, of the run or of a workflow that it calls, and what its file declares. */
function askNode({ name, scope }: Question, plan: Plan): AskNode & { readonly own: Pick<Plan, "functions" | "types"> } {
  const own = planAt(plan, scope) ?? plan
  const { nodes } = own
  const node = nodes.find((one) => one.kind === "ask" && one.name === name)
  if (node?.kind !== "ask") throw new Error(`The plan has no ask ${name}`)
  return { ...node, own }
}

/** The error of an answer that does not fulfil the requirements of its question; null where it does. */
async function refusedBy(
  store: RunStore,
  plan: Plan,
  question: Question,
  answer: JsonValue,
): Promise<WireError | null> {
  const { id: path, requires, own: functions } = askNode(question, plan)
  if (requires.length === 0 || !isJsonObject(answer)) return null
  const captured = requires.every(({ captures }) => captures.length === 0) ? [] : await capturedWith(store, question)
  const iteration = question.iteration ?? null
  const judging = { requires, captured, path, iteration, work: new EvaluationWork(), functions }
  try {
    const [first, ...others] = issuesOf(path, await rejectionsOf(judging, answer))
    return first === undefined ? null : wireError("input_error", [first, ...others])
  } catch (error) {
    if (error instanceof RunFailure) return error.error
    throw error
  }
}

/** What the requirements referred to when the question was asked. */
async function capturedWith(store: RunStore, { run_id, id }: Question): Promise<CapturedValues> {
  for (let after = 0; ;) {
    const page = await store.read(run_id, after, 500, "kept")
    if (page.length === 0) throw new Error(`The log of run ${run_id} does not show question ${id}`)
    for (const event of page) {
      after = event.id
      if (event.type !== "question_asked" || event.data.id !== id) continue
      const kept = event.kept as ReplayData<"question_asked"> | undefined
      return kept !== undefined && "place" in kept ? (kept.requirements?.captured ?? []) : []
    }
  }
}
