import type { JsonObject } from "../../base/json-value.ts"
import type { ReplayData } from "../../log/replay-data.ts"
import type { QuestionReplayState } from "../../log/replay-state.ts"
import type { ApprovalPlan } from "../../plan/expression.ts"
import type { RunContext } from "../context/run-context.ts"
import { inScope, outcomeOf } from "../context/run-context.ts"
import { evaluateEffects, writeText, type Effects } from "../values/evaluate-effects.ts"
import type { Scope } from "../values/scope.ts"
import { bytesOver } from "../values/value-size.ts"
import { approvalSchema, readApproval } from "../questions/approval-answer.ts"
import type { NewQuestion } from "../questions/ask-and-wait.ts"
import { runShownBytes } from "../../base/limits.ts"

/** Whom to ask, and for how long. */
export interface Approval {
  readonly to: string | null
  readonly expires_seconds: number
}

/** Whom a call is to be approved by. */
export async function approvalAt(plan: ApprovalPlan | null, scope: Scope, effects: Effects): Promise<Approval | null> {
  if (plan === null) return null
  const { to, expires_seconds } = plan
  const here = { ...scope, path: `${scope.path}.approval.to` }
  return { to: to === null ? null : await writeText(await evaluateEffects(to, here, effects), here), expires_seconds }
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
  /** As they are sent, secrets by their names. */
  readonly arguments: JsonObject
  readonly approval: Approval
  readonly kept: () => ReplayData<"question_asked">
  /** What the log knows to have been asked already. */
  readonly asked: readonly QuestionReplayState[]
  readonly path: string
  /** What would be called, for the person. */
  readonly subject: Pick<NewQuestion, "name" | "question" | "tool" | "server" | "endpoint" | "workflow" | "file">
  /** Digest of all that the approval allows, as far as it is known. */
  digest(): string
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

  constructor(running: RunContext, call: CallToApprove) {
    this.#running = running
    this.#call = call
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
    if (this.#questions.at(-1)?.asked.digest === this.#call.digest()) return "approved"
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
    const { name, question: text, ...shown } = subject
    const again = this.#questions.length === 0 ? "" : " The tool has changed since it was asked about before."
    const question = this.#running.questions.ask(
      {
        kind: "approval",
        ...inScope(this.#running),
        name,
        ...about,
        question: `${text}${again}`,
        show: null,
        to: approval.to,
        schema: approvalSchema,
        ...shown,
        arguments: sent,
        digest: this.#call.digest(),
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
