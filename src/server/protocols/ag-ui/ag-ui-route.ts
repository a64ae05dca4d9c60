import type { FastifyReply, FastifyRequest } from "fastify"
import type { LogEvent, Question, WaitingFor } from "../../../log/events.ts"
import { readWaitingFor } from "../../../log/waiting-for.ts"
import { answerAs } from "../../answer-as.ts"
import { asHttpError } from "../../answer-error.ts"
import { corsOf } from "../../cors.ts"
import { refuse, refuseAt } from "../../http-error.ts"
import { ownRun } from "../../own-run.ts"
import type { RouteDependencies } from "../../route-dependencies.ts"
import { admitRun, clientLeft, unended } from "../../start-run.ts"
import { cancelledError, cancelTurn, mayAnswer } from "../chat/answer-turn.ts"
import { inputOf } from "../chat/chat-input.ts"
import { chatRun, findChat, type ChatWorkflow } from "../chat/chat-workflow.ts"
import { ReplyReader, turnEnd } from "../chat/follow-reply.ts"
import { replySource, type ReplySource } from "../chat/reply-source.ts"
import { waitingReply } from "../chat/waiting-reply.ts"
import { AgentEvents } from "./agent-events.ts"
import { othersFrom, readResumes, readTurn, type AgUiRequest, type Resume } from "./run-input.ts"

/** `POST /workflows/{name}/ag-ui`: one turn with a workflow, or answers to what its run asked. */
export async function answerAgUi(
  parts: RouteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  body: AgUiRequest,
): Promise<FastifyReply> {
  const workflow = await findChat(parts, request, name)
  if (workflow === null) throw refuse("not_found", `There is no workflow ${name.slice(0, 200)} with a \`chat\` block`)
  const resumes = readResumes(body)
  const { run_id, after, source, key } =
    resumes.length === 0
      ? await begin(parts, request, workflow, body)
      : { ...(await resume(parts, request, workflow, resumes)), key: undefined }
  const events = new AgentEvents(body.threadId, body.runId, `${run_id}-reply-${after}`)
  const before = await stepEnds(parts, run_id, after)
  const frames = (signal: AbortSignal): AsyncIterable<string> => {
    const log = parts.store.follow(run_id, after, signal)
    return translate(parts, request, workflow, { run_id, after, before, source }, events, log)
  }
  reply.hijack()
  const left = await parts.streams.sendText(reply.raw, { ...corsOf(reply), "x-service-run-id": run_id }, frames)
  if (left && key === undefined) await clientLeft(parts, request, run_id)
  return reply
}

interface Begun {
  readonly run_id: string
  readonly after: number
  readonly source: ReplySource | null
  readonly key: string | undefined
}

async function begin(
  parts: RouteDependencies,
  request: FastifyRequest,
  workflow: ChatWorkflow,
  body: AgUiRequest,
): Promise<Begun> {
  const { plan, chat } = workflow
  const source = replySource(plan)
  const input = inputOf(plan, chat, readTurn(body), othersFrom(plan, chat, body))
  const asked = { deltas: source !== null, chat: { api: "ag-ui", store: false, background: false } } as const
  const run = await chatRun(parts, request, workflow, input, asked)
  const { run_id, key } = await admitRun(parts, request, plan, run)
  return { run_id, after: 0, source, key }
}

/** Stores the answers, and says where the run goes on. */
async function resume(
  parts: RouteDependencies,
  request: FastifyRequest,
  { name, plan, serving }: ChatWorkflow,
  resumes: readonly Resume[],
): Promise<Omit<Begun, "key">> {
  const [{ run_id } = { run_id: "" }] = resumes
  if (resumes.some((one) => one.run_id !== run_id)) {
    throw refuseAt("invalid_request", "resume", "All interrupts of a request must be of one run")
  }
  const row = await ownRun(parts, request, run_id)
  if (row.workflow?.name !== name) throw refuse("not_found", "There is no such run of this workflow")
  for (const one of resumes) await answerOne(parts, request, one)
  // The run has the version that it began with: another one may reply with another agent's words.
  const source = row.workflow.version === serving.version ? replySource(plan) : null
  // A run that has ended says how once more.
  return { run_id, after: row.finished_at === null ? row.last_event_id : row.last_event_id - 1, source }
}

/** The events up to one of them that say what steps gave. */
async function stepEnds({ store }: RouteDependencies, run_id: string, until: number): Promise<readonly LogEvent[]> {
  const found: LogEvent[] = []
  for (let after = 0; after < until;) {
    const page = await store.read(run_id, after, Math.min(until - after, 500))
    const last = page.at(-1)
    if (last === undefined) break
    found.push(...page.filter(({ type }) => type === "agent_completed" || type === "step_reused"))
    after = last.id
  }
  return found
}

async function answerOne(parts: RouteDependencies, request: FastifyRequest, given: Resume): Promise<void> {
  const { run_id, status, payload, digest } = given
  const question = await parts.store.questions.one(run_id, given.question)
  if (question === null || !mayAnswer(parts, request, question)) throw refuse("not_found", "There is no such question")
  // An ask that nobody wants to answer stays open: it has its own expiry.
  if (status === "cancelled" && question.kind === "ask") return
  const refusal = question.kind === "approval" ? { approve: false, note: null } : { action: "cancel" }
  const answer = status === "cancelled" ? refusal : payload
  const known = status === "cancelled" ? (digest ?? question.digest ?? null) : digest
  await answerAs(parts, request, question, { answer, digest: known, by: null })
}

interface Followed extends Pick<Begun, "run_id" | "after" | "source"> {
  readonly before: readonly LogEvent[]
}

async function* translate(
  parts: RouteDependencies,
  request: FastifyRequest,
  { chat }: ChatWorkflow,
  { run_id, after, before, source }: Followed,
  written: AgentEvents,
  log: AsyncIterable<LogEvent>,
): AsyncGenerator<string> {
  const reader = new ReplyReader(source)
  yield written.begin(before)
  try {
    const before = await waitingAt(parts, run_id, after)
    if (before !== null) {
      yield await waiting(parts, request, run_id, before, written)
      return
    }
    for await (const event of log) {
      const text = reader.take(event)
      const rest = event.type === "workflow_completed" ? restOf(event, chat.reply, reader) : ""
      if (text === null || rest === null) {
        await cancelTurn(parts, request, run_id)
        yield written.failed({
          kind: "output_error",
          message: "The text so far was rejected, and the run is cancelled",
        })
        return
      }
      const said =
        (text === "" ? "" : written.text(text)) + written.take(event) + (rest === "" ? "" : written.text(rest))
      if (said !== "") yield said
      const end = turnEnd(event, chat.reply)
      if (end === null) continue
      // It waited, and has gone on since.
      const still = end.kind === "waiting" ? await waitingAt(parts, run_id, event.id) : null
      if (end.kind === "waiting" && still === null) continue
      if (end.kind === "completed" && event.type === "workflow_completed") {
        yield written.completed(event.data.output.result)
      } else if (still !== null) yield await waiting(parts, request, run_id, still, written)
      else yield written.failed(end.kind === "failed" ? end.error : cancelledError)
      return
    }
    throw unended(parts, run_id)
  } catch (error) {
    const known = asHttpError(error)
    if (known === undefined) throw error
    yield written.failed(known.error)
  }
}

function restOf(
  event: Extract<LogEvent, { type: "workflow_completed" }>,
  field: string,
  reader: ReplyReader,
): string | null {
  const end = turnEnd(event, field)
  return end?.kind === "completed" ? reader.rest(end.reply) : null
}

/** What the run waits for, where nothing has happened after the event; null where it has gone on. */
async function waitingAt({ store }: RouteDependencies, run_id: string, event: number): Promise<WaitingFor | null> {
  const found = await store.lookup(run_id)
  if (found.found !== "run" || !found.run.waiting || found.run.last_event_id !== event) return null
  const [last] = await store.read(run_id, event - 1, 1)
  return last?.type === "run_waiting" ? readWaitingFor(last.data) : null
}

/** More than a person can look at. */
const maxInterrupts = 100

async function waiting(
  parts: RouteDependencies,
  request: FastifyRequest,
  run_id: string,
  waitingFor: WaitingFor,
  written: AgentEvents,
): Promise<string> {
  const { found } = await parts.store.questions.ofRun(run_id, 1_000, null)
  const open = found.map(({ question }) => question).filter(({ status }) => status === "open")
  const own: Question[] = open.filter((question) => mayAnswer(parts, request, question)).slice(0, maxInterrupts)
  return written.waiting(run_id, own, waitingReply(run_id, open, waitingFor, false))
}
