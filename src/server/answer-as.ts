import type { FastifyRequest } from "fastify"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonValue } from "../base/json-value.ts"
import type { Question } from "../log/events.ts"
import type { AuditAct } from "../ports/audit.ts"
import { answerQuestion } from "../run/questions/answer-question.ts"
import { callerOf, tenantOf } from "./caller-of.ts"
import { HttpError, refuse } from "./http-error.ts"
import type { RouteDependencies } from "./route-dependencies.ts"

export interface AnswerOfCaller {
  readonly answer: JsonValue
  readonly digest: string | null
  /** A label for the person. */
  readonly by: string | null
}

/** Stores the answer of a request's caller, who may give it; else the request is refused. */
export async function answerAs(
  parts: RouteDependencies,
  request: FastifyRequest,
  question: Question,
  { answer, digest, by }: AnswerOfCaller,
): Promise<Question> {
  const { run_id, id } = question
  const caller = callerOf(request)
  const result = await answerQuestion(
    {
      store: parts.store,
      planOf: (source) => parts.planOf(source, tenantOf(request)),
      serverSecrets: (workflow, names) => parts.serverSecrets.of(workflow, names),
    },
    question,
    { answer, digest, answered_by: { caller: parts.groups.nameOf(caller), by } },
  )
  switch (result.outcome) {
    case "answered":
      parts.log.info(
        { run_id, question: id, ...(caller !== "" && { caller }), ...(by !== null && { by }) },
        "question answered",
      )
      parts.audit({ act: actOf(result.question), run_id, caller, question: id, ...(by !== null && { by }) })
      return result.question
    case "conflict":
      throw refuse("conflict", result.message)
    case "misfit":
      throw new HttpError(result.error)
  }
}

function actOf({ kind, answer }: Question): AuditAct {
  if (kind !== "approval") return "answered"
  return isJsonObject(answer) && answer["approve"] === true ? "approved" : "denied"
}
