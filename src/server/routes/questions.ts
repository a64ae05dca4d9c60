import type { FastifyInstance } from "fastify"
import { answerBody, inboxQuery, noQuery } from "../../api/request-schemas.ts"
import type { AnswerBody, InboxAnswer, QuestionsAnswer } from "../../api/shapes.ts"
import type { Question, QuestionStatus } from "../../ports/events.ts"
import { answerQuestion } from "../../run/questions/answer-question.ts"
import { listNeedsKeys } from "../callers.ts"
import { HttpError, refuse, refuseAt } from "../http-error.ts"
import { ownRun } from "../own-run.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { callerOf, shareOf } from "../route-dependencies.ts"

const usualLimit = 50

interface Query {
  readonly status?: QuestionStatus
  readonly to?: string
  readonly limit?: string
  readonly after?: string
}

/** What runs ask people: the questions of a run, everybody's inbox, and answers. */
export function questionRoutes(app: FastifyInstance, parts: RouteDependencies, isOpenToStrangers: boolean): void {
  app.get<{ Params: { run_id: string } }>(
    "/execute/:run_id/questions",
    { schema: { querystring: noQuery } },
    async (request): Promise<QuestionsAnswer> => {
      const { run_id } = await ownRun(parts, request, request.params.run_id)
      return { questions: await parts.store.questions(run_id) }
    },
  )

  app.get<{ Querystring: Query }>(
    "/questions",
    { schema: { querystring: inboxQuery } },
    async (request): Promise<InboxAnswer> => {
      if (isOpenToStrangers) throw listNeedsKeys("questions")
      const { status = "open", to = null, limit, after = null } = request.query
      if (after !== null && !/^[\x21-\x7e]{1,500}$/.test(after)) {
        throw refuseAt("invalid_request", "after", "`after` must be the `next` of another page")
      }
      const caller = callerOf(request)
      const { questions, next } = await parts.store.inbox({
        caller,
        groups: parts.groups.names,
        member_of: parts.groups.of(caller),
        status,
        to,
        limit: limit === undefined ? usualLimit : Number(limit),
        after,
      })
      return { questions, next }
    },
  )

  app.post<{ Params: { run_id: string; id: string }; Body: AnswerBody }>(
    "/execute/:run_id/questions/:id",
    { schema: { body: answerBody, querystring: noQuery } },
    async (request): Promise<Question> => {
      const { run_id, id } = request.params
      const { answer, digest = null, by = null } = request.body
      const caller = callerOf(request)
      const found = await parts.store.lookup(run_id)
      // A caller who may not see the run gets "not found"; a member of a group sees only its questions.
      const question = found.found === "run" ? await parts.store.question(run_id, id) : null
      if (found.found !== "run") await ownRun(parts, request, run_id)
      if (
        found.found !== "run" ||
        question === null ||
        !parts.groups.mayAnswer(caller, question.to, found.run.caller)
      ) {
        throw refuse("not_found", "There is no such question")
      }
      const result = await answerQuestion(
        {
          store: parts.store,
          planOf: (source) => parts.planOf(source, shareOf(request)),
          serverSecrets: (workflow, names) => parts.serverSecrets.of(workflow, names),
        },
        question,
        { answer, digest, answered_by: { caller: parts.groups.nameOf(caller), by } },
      )
      switch (result.outcome) {
        case "answered":
          parts.log.info({ run_id, question: id }, "question answered")
          return result.question
        case "conflict":
          throw refuse("conflict", result.message)
        case "misfit":
          throw new HttpError(result.error)
      }
    },
  )
}
