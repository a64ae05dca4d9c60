import type { FastifyInstance, FastifyReply } from "fastify"
import { answerBody, inboxQuery, noQuery, pageQuery } from "../../api/request-schemas.ts"
import type { AnswerBody } from "../../api/shapes.ts"
import type { Question, QuestionStatus } from "../../ports/events.ts"
import type { QuestionPage } from "../../ports/questions.ts"
import { answerQuestion } from "../../run/questions/answer-question.ts"
import { listNeedsKeys } from "../callers.ts"
import { HttpError, refuse, refuseAt } from "../http-error.ts"
import { jsonType } from "../list-page.ts"
import { ownRun } from "../own-run.ts"
import { writeQuestions, type WrittenQuestions } from "../question-page.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { callerOf, shareOf } from "../caller-of.ts"

const usualLimit = 50
/** More than a run has open, and than fit on a page. */
const mostOfRun = 1_000

interface PageQuery {
  readonly limit?: string
  readonly after?: string
}

interface Query extends PageQuery {
  readonly status?: QuestionStatus
  readonly to?: string
}

/** What runs ask people: the questions of a run, everybody's inbox, and answers. */
export function questionRoutes(app: FastifyInstance, parts: RouteDependencies, isOpenToStrangers: boolean): void {
  app.get<{ Params: { run_id: string }; Querystring: PageQuery }>(
    "/execute/:run_id/questions",
    { schema: { querystring: pageQuery } },
    async (request, reply) => {
      const { limit, after } = request.query
      const position = readPosition(after)
      const { run_id } = await ownRun(parts, request, request.params.run_id)
      const most = limit === undefined ? mostOfRun : Number(limit)
      const read = (left: number, from: string | null): Promise<QuestionPage> =>
        parts.store.questions(run_id, left, from)
      return sendPage(reply, await parts.answers.make(request, () => writeQuestions(most, position, read)))
    },
  )

  app.get<{ Querystring: Query }>("/questions", { schema: { querystring: inboxQuery } }, async (request, reply) => {
    if (isOpenToStrangers) throw listNeedsKeys("questions")
    const { status = "open", to = null, limit, after } = request.query
    const caller = callerOf(request)
    const whose = { caller, groups: parts.groups.names, member_of: parts.groups.of(caller), status, to }
    const most = limit === undefined ? usualLimit : Number(limit)
    const read = (left: number, from: string | null): Promise<QuestionPage> =>
      parts.store.inbox({ ...whose, limit: left, after: from })
    const position = readPosition(after)
    return sendPage(reply, await parts.answers.make(request, () => writeQuestions(most, position, read)))
  })

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

function readPosition(after: string | undefined): string | null {
  if (after === undefined || /^[\x21-\x7e]{1,500}$/.test(after)) return after ?? null
  throw refuseAt("invalid_request", "after", "`after` must be the `next` of another page")
}

function sendPage(reply: FastifyReply, { page, next }: WrittenQuestions): FastifyReply {
  return reply.type(jsonType).send(page.write("questions", { after: { next } }))
}
