import type { JsonObject } from "../../base/json-value.ts"
import type { ReplayData } from "../../log/replay-data.ts"
import type { AskedByServer, QuestionReplayState } from "../../log/replay-state.ts"
import type { ApprovalPlan } from "../../plan/expression.ts"
import type { ToolPlan } from "../../plan/plan-shape.ts"
import type { AskReply, ServerAsk, ServerQuestion } from "../../ports/tools.ts"
import { evaluate } from "../values/evaluate.ts"
import type { RunContext } from "../context/run-context.ts"
import { inScope, outcomeOf, outerScope, whileBusy } from "../context/run-context.ts"
import { toBoundedText } from "../values/value-builders.ts"
import { elicitationSchema } from "../../log/elicitation-answer.ts"
import type { NewQuestion } from "../questions/ask-and-wait.ts"

/** The call during which the server asks. */
export interface AskingCall {
  readonly tool: string
  readonly plan: ToolPlan
  readonly callId: string
  readonly iteration: number | undefined
  readonly items: readonly number[] | undefined
  readonly kept: Extract<ReplayData<"question_asked">, { readonly call: unknown }>
  readonly path: string
}

/** Asks people all that the server wants to know before it goes on. */
export async function askForServer(
  running: RunContext,
  call: AskingCall,
  { entries, state }: ServerAsk,
  round: number,
): Promise<AskedByServer> {
  const fresh = entries.map((entry) => newQuestion(running, call, entry))
  await whileBusy(running, running.questions.checkSize(fresh))
  running.questions.checkRoom(fresh.length, call.path)
  const questions = new Map<string, QuestionReplayState>()
  // All in one turn of the event loop, so that they are stored together.
  for (const [at, { key }] of entries.entries()) {
    const question = fresh[at]
    if (question === undefined) continue
    const elicitation = { round, key, ...(at === 0 && state !== null && { state }) }
    questions.set(key, running.questions.ask(question, { ...call.kept, elicitation }))
  }
  return { round, state, questions }
}

/** Waits for the answers. One that nobody gave in time is `cancel`. */
export async function replyOf(running: RunContext, { questions, state }: AskedByServer): Promise<AskReply> {
  const outcomes = await Promise.all(
    [...questions].map(async ([key, question]) => [key, await outcomeOf(running, question)] as const),
  )
  const responses: JsonObject = {}
  for (const [key, outcome] of outcomes) {
    const value = outcome.kind === "answered" ? outcome.answer : { action: "cancel" }
    Object.defineProperty(responses, key, { value, enumerable: true, configurable: true, writable: true })
  }
  return { responses, state }
}

function newQuestion(running: RunContext, call: AskingCall, entry: ServerQuestion): NewQuestion {
  const { tool, plan, callId, iteration, items } = call
  const elicitation = running.plan.servers[plan.server]?.elicitation
  if (elicitation === undefined) throw new Error(`Server ${plan.server} may not ask`)
  const { message, schema, url } = running.redactor.redact(entry)
  return {
    kind: "elicitation",
    ...inScope(running),
    name: tool,
    ...(iteration === undefined ? {} : { iteration }),
    ...(items === undefined ? {} : { items }),
    question: message === "" ? `${plan.server} asks` : message,
    show: url === null ? null : { host: URL.parse(url)?.host ?? "", url },
    to: toOf(running, plan.server, elicitation),
    schema: elicitationSchema(schema),
    tool: plan.remote,
    server: plan.server,
    expires_seconds: elicitation.expires_seconds,
    call_id: callId,
  }
}

function toOf(running: RunContext, server: string, { to }: ApprovalPlan): string | null {
  if (to === null) return null
  const scope = outerScope(running, `mcp.${server}.elicitation.to`)
  return toBoundedText(evaluate(to, scope), scope)
}
