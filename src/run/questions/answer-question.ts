import { jsonEqual } from "../../base/json-equal.ts"
import type { JsonValue } from "../../base/json-value.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { validateValue } from "../../types/validate-value.ts"
import type { RecordType, TypeTable } from "../../types/types.ts"
import type { RunStore } from "../../ports/store.ts"
import type { AnsweredBy, Question, WireError } from "../../log/events.ts"
import { wireError } from "../../ports/run-failure.ts"
import { bytesOver } from "../value-size.ts"
import { redactor } from "../secrets/redact.ts"
import { secretsOfRun, type ServerSecrets } from "../secrets/secrets-of-run.ts"
import { approvalType, withNote } from "./approval-answer.ts"
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
  planOf(source: string): Promise<{ readonly plan: Plan } | { readonly error: WireError }>
}

/** Checks an answer and stores it as the question's outcome. Checks in this order: digest, status, type. */
export async function answerQuestion(
  parts: AnswerParts,
  question: Question,
  given: GivenAnswer,
): Promise<AnswerResult> {
  const { run_id, id, kind } = question
  if (given.digest !== (question.digest ?? null))
    return { outcome: "conflict", message: digestSentence(question, given) }
  const request = await parts.store.request(run_id)
  const compiled = await parts.planOf(request.source)
  if ("error" in compiled) {
    return { outcome: "conflict", message: "This release does not accept the workflow of this run any more" }
  }
  const { plan } = compiled
  const answer = kind === "approval" ? withNote(given.answer) : given.answer
  // Stores the answer as it enters the run: without the run's secrets.
  const { redact } = redactor(secretsOfRun(plan, request, parts.serverSecrets))
  const stored = redact(answer)
  const known = settled(question, stored)
  if (known !== null) return known
  if (bytesOver(stored, runShownBytes) !== null) {
    const message = `The answer has more than ${runShownBytes} bytes of JSON`
    return { outcome: "misfit", error: wireError("payload_too_large", [{ path: "answer", message }]) }
  }
  const { type, types } = typeOf(question, plan)
  const [first, ...rest] = validateValue(answer, type, types, "answer").map(({ path, message, hint }) =>
    hint === undefined ? { path, message } : { path, message, hint },
  )
  if (first !== undefined) return { outcome: "misfit", error: wireError("input_error", [first, ...rest]) }
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

function typeOf({ kind, name }: Question, plan: Plan): { readonly type: RecordType; readonly types: TypeTable } {
  if (kind === "approval") return { type: approvalType, types: {} }
  const node = plan.nodes.find((one) => one.kind === "ask" && one.name === name)
  if (node?.kind !== "ask") throw new Error(`The plan has no ask ${name}`)
  return { type: node.output, types: plan.types }
}
