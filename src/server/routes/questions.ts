import type { FastifyInstance, FastifyReply } from "fastify"
import { defaultLimit } from "../../api/page.ts"
import * as api from "../../api/questions.ts"
import type { Question } from "../../log/events.ts"
import type { QuestionPage } from "../../ports/question-store.ts"
import { answerAs } from "../answer-as.ts"
import { listNeedsKeys } from "../callers.ts"
import { refuse, refuseAt, type HttpError } from "../http-error.ts"
import { jsonType } from "../list-page.ts"
import { ownRun } from "../own-run.ts"
import { writeQuestions, type WrittenQuestions } from "../question-page.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { serve } from "../serve-route.ts"
import { callerOf } from "../caller-of.ts"

/** More than a run has open, and than fit on a page. */
const maxOfRun = 1_000

/** Routes for questions to people: those of a run, everybody's inbox, and answers. */
export function questionRoutes(app: FastifyInstance, parts: RouteDependencies, isOpenToStrangers: boolean): void {
  serve(app, api.listQuestionsOfRun, async (request, reply) => {
    const { limit = maxOfRun, after } = request.query
    const position = readPosition(after)
    const { run_id } = await ownRun(parts, request, request.params.run_id)
    const read = (left: number, from: string | null): Promise<QuestionPage> =>
      parts.store.questions.ofRun(run_id, left, from)
    return sendPage(reply, await parts.answers.make(request, () => writeQuestions(limit, position, read)))
  })

  serve(app, api.listQuestions, async (request, reply) => {
    if (isOpenToStrangers) throw listNeedsKeys("questions")
    const { status = "open", to = null, limit = defaultLimit, after } = request.query
    const caller = callerOf(request)
    const whose = { caller, groups: parts.groups.names, member_of: parts.groups.of(caller), status, to }
    const read = (left: number, from: string | null): Promise<QuestionPage> =>
      parts.store.questions.inbox({ ...whose, limit: left, after: from })
    const position = readPosition(after)
    return sendPage(reply, await parts.answers.make(request, () => writeQuestions(limit, position, read)))
  })

  serve(app, api.answerQuestion, async (request): Promise<Question> => {
    const { run_id, id } = request.params
    const { answer, digest = null, by = null } = request.body
    const caller = callerOf(request)
    const found = await parts.store.lookup(run_id)
    // A caller who may not see the run gets "not found"; a member of a group sees only its questions.
    const question = found.found === "run" ? await parts.store.questions.one(run_id, id) : null
    if (found.found !== "run") await ownRun(parts, request, run_id)
    if (found.found !== "run" || question === null) throw noSuchQuestion()
    if (!parts.groups.mayAnswer(caller, question.to, found.run.caller)) {
      // The run's caller sees the question all the same.
      throw found.run.caller === caller ? notInGroup(question) : noSuchQuestion()
    }
    return answerAs(parts, request, question, { answer, digest, by })
  })
}

function noSuchQuestion(): HttpError {
  return refuse("not_found", "There is no such question")
}

function notInGroup({ to }: Question): HttpError {
  return refuse("forbidden", `Only members of the group ${to ?? ""} answer this question (WIRE_GROUPS)`)
}

function readPosition(after: string | undefined): string | null {
  if (after === undefined || /^[\x21-\x7e]{1,500}$/.test(after)) return after ?? null
  throw refuseAt("invalid_request", "after", "`after` must be the `next` of another page")
}

function sendPage(reply: FastifyReply, { page, next }: WrittenQuestions): FastifyReply {
  return reply.type(jsonType).send(page.write("questions", { after: { next } }))
}
