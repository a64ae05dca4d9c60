import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { ReplayData } from "../../log/replay-data.ts"
import type { QuestionReplayState } from "../../log/replay-state.ts"
import type { ApprovalPlan, Expression } from "../../plan/expression.ts"
import { failure } from "../../ports/run-failure.ts"
import { shown } from "../log/log.ts"
import type { RunContext } from "../context/run-context.ts"
import { inScope, outcomeOf } from "../context/run-context.ts"
import { evaluateEffects, writeText, type Effects } from "../values/evaluate-effects.ts"
import type { Scope } from "../values/scope.ts"
import { bytesOver } from "../values/value-size.ts"
import { approvalSchema, readApproval } from "../questions/approval-answer.ts"
import type { NewQuestion } from "../questions/ask-and-wait.ts"
import { runQuestionLength, runShownBytes } from "../../base/limits.ts"

/** What a person is asked and shown besides the call. */
export interface ApprovalWords {
  readonly question?: string
  readonly show?: JsonValue
}

/** What to ask, whom, and for how long. */
export interface Approval extends ApprovalWords {
  readonly to: string | null
  readonly expires_seconds: number
}

/** How a call is to be approved. */
export async function approvalAt(plan: ApprovalPlan | null, scope: Scope, effects: Effects): Promise<Approval | null> {
  if (plan === null) return null
  const { question, show, to, expires_seconds } = plan
  const at = (part: string): Scope => ({ ...scope, path: `${scope.path}.approval.${part}` })
  const text = async (part: "question" | "to", expression: Expression): Promise<string> => {
    const here = at(part)
    const found = await writeText(await evaluateEffects(expression, here, effects), here)
    if (part === "to" || found.length <= runQuestionLength) return found
    throw failure("limit_exceeded", here.path, `\`question\` has more than ${runQuestionLength} characters`)
  }
  return {
    ...(question === undefined ? {} : { question: await text("question", question) }),
    ...(show === undefined ? {} : { show: shown(await evaluateEffects(show, at("show"), effects)) }),
    to: to === null ? null : await text("to", to),
    expires_seconds,
  }
}

/** How often a person is asked again because what would be called has changed. */
const maxNewQuestions = 2

/** A call that waits for approval, of a tool or of a workflow. */
export interface CallToApprove {
  readonly callId: string
  readonly about: {
    readonly agent?: string
    readonly dynamic?: string
    readonly iteration?: number
    readonly items?: readonly number[]
  }
  /** Arguments as they are sent, with the names of secrets in place of their values. */
  readonly arguments: JsonObject
  readonly approval: Approval
  readonly kept: () => ReplayData<"question_asked">
  /** What the log knows to have been asked already. */
  readonly asked: readonly QuestionReplayState[]
  readonly path: string
  /** What would be called, for the person. */
  readonly subject: Pick<NewQuestion, "name" | "question" | "tool" | "server" | "endpoint" | "workflow" | "file">
  /** Digest of all that the approval allows, as far as it is known. */
  digest(words: ApprovalWords): string
  /** Looks at what would be called right before the call is made; the result says why it cannot be made, where it cannot. */
  look(): Promise<NotSent | null>
}

/** Why a call was not made, for the model or the workflow that wanted it. */
export interface NotSent {
  readonly refusal: string
}

/** The approval of one call. If what would be sent differs from what was approved, the question is asked again. */
export class CallApproval {
  readonly #running: RunContext
  readonly #call: CallToApprove
  readonly #questions: QuestionReplayState[]
  readonly #words: ApprovalWords

  constructor(running: RunContext, call: CallToApprove) {
    const { question, show } = call.approval
    this.#running = running
    this.#call = call
    this.#words = running.redactor.redact({
      ...(question === undefined ? {} : { question }),
      ...(show === undefined ? {} : { show }),
    })
    this.#questions = [...call.asked]
  }

  /** Bytes of arguments that are too large to be shown to a person; null where they are not. */
  get tooLarge(): number | null {
    return bytesOver(this.#call.arguments, runShownBytes)
  }

  /** Waits for the person. Null when the call may be made; otherwise why it may not. */
  async refusal(): Promise<string | null> {
    const question = this.#questions.at(-1) ?? this.#ask()
    const outcome = await outcomeOf(this.#running, question)
    if (outcome.kind === "expired") return declined("expired")
    const { approve, note } = readApproval(outcome.answer)
    return approve ? null : declined(note)
  }

  /** Right before the call: whether what would be sent is what was approved. If not, the question is asked again. */
  async check(): Promise<"approved" | "asked again" | NotSent> {
    const gone = await this.#call.look()
    if (this.#questions.at(-1)?.asked.digest === this.#call.digest(this.#words)) return "approved"
    if (gone !== null) return gone
    if (this.#questions.length > maxNewQuestions) {
      return { refusal: declined("the tool changed each time that it was approved") }
    }
    this.#ask()
    return "asked again"
  }

  #ask(): QuestionReplayState {
    const { callId, about, arguments: sent, approval, kept, path, subject } = this.#call
    this.#running.questions.checkRoom(1, path)
    const { name, question: usual, ...target } = subject
    const { question: text = usual, show = null } = this.#words
    const again = this.#questions.length === 0 ? "" : " The tool has changed since it was asked about before."
    const question = this.#running.questions.ask(
      {
        kind: "approval",
        ...inScope(this.#running),
        name,
        ...about,
        question: `${text}${again}`,
        show,
        to: approval.to,
        schema: approvalSchema,
        ...target,
        arguments: sent,
        digest: this.#call.digest(this.#words),
        expires_seconds: approval.expires_seconds,
        call_id: callId,
      },
      kept(),
    )
    this.#questions.push(question)
    return question
  }
}

function declined(note: string | null): string {
  return note === null ? "The call was declined" : `The call was declined: ${note}`
}
