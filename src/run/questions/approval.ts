import type { JsonObject } from "../../base/json-value.ts"
import { resolveEndpoint } from "../backends.ts"
import type { Kept } from "../../log/kept.ts"
import type { QuestionPast } from "../../log/past.ts"
import type { RunContext } from "../run-context.ts"
import { callStored } from "../run-context.ts"
import { bytesOver } from "../value-size.ts"
import type { HostSession } from "../../ports/tools.ts"
import type { ToolPlan } from "../../plan/plan-shape.ts"
import { approvalSchema, readApproval } from "./approval-answer.ts"
import { approvalDigest } from "./approval-digest.ts"
import { runShownBytes } from "../../base/limits.ts"

/** Whom to ask, and for how long. */
export interface Approval {
  readonly to: string | null
  readonly expires_seconds: number
}

/** How often a person is asked again because what would be called has changed. */
const mostNewQuestions = 2

export interface CallToApprove {
  readonly tool: string
  readonly plan: ToolPlan
  readonly host: HostSession
  readonly callId: string
  readonly iteration: number | undefined
  /** As they are sent, secrets by their names. */
  readonly arguments: JsonObject
  readonly approval: Approval
  readonly kept: () => Kept<"question_asked">
  /** What the log knows to have been asked already. */
  readonly asked: readonly QuestionPast[]
  /** The tool as its server published it when the run connected. */
  readonly definition: JsonObject
  readonly path: string
}

/** Why a call was not made, for the model or the workflow that wanted it. */
export interface NotSent {
  readonly refusal: string
}

/** The approval of one call. If what would be sent differs from what was approved, the question is asked again. */
export class CallApproval {
  readonly #running: RunContext
  readonly #call: CallToApprove
  readonly #questions: QuestionPast[]
  readonly #endpoint: string
  #definition: JsonObject | null

  constructor(running: RunContext, call: CallToApprove) {
    const { server } = call.plan
    const endpoint = running.plan.servers[server]?.endpoint
    if (endpoint === undefined) throw new Error(`Server ${server} is not in the plan`)
    this.#running = running
    this.#call = call
    this.#questions = [...call.asked]
    this.#definition = call.definition
    this.#endpoint = resolveEndpoint(running, endpoint, `mcp.${server}.endpoint`, running.named())
  }

  /** Bytes of arguments that are too large to be shown to a person; null where they are not. */
  get tooLarge(): number | null {
    return bytesOver(this.#call.arguments, runShownBytes)
  }

  /** Waits for the person. Null when the call may be made; otherwise why it may not. */
  async refusal(): Promise<string | null> {
    const { questions } = this.#running
    const question = this.#questions.at(-1) ?? this.#ask()
    const outcome = await questions.outcome(question)
    if (outcome.kind === "expired") return declined("expired")
    const { approve, note } = readApproval(outcome.answer)
    return approve ? null : declined(note)
  }

  /** Right before the call: whether what would be sent is what was approved. If not, the question is asked again. */
  async check(): Promise<"approved" | "asked again" | NotSent> {
    const running = this.#running
    const { host, tool, plan } = this.#call
    this.#definition = await callStored(running, () => host.published(tool, running.signal))
    if (this.#questions.at(-1)?.asked.digest === this.#digest()) return "approved"
    if (this.#definition === null) return { refusal: `mcp.${plan.server} no longer offers the tool ${plan.remote}` }
    if (this.#questions.length > mostNewQuestions) {
      return { refusal: declined("the tool changed each time that it was approved") }
    }
    this.#ask()
    return "asked again"
  }

  #digest(): string {
    const { callId, plan, arguments: sent } = this.#call
    return approvalDigest({
      run_id: this.#running.runId,
      call_id: callId,
      endpoint: this.#endpoint,
      remote: plan.remote,
      definition: this.#definition,
      arguments: sent,
    })
  }

  #ask(): QuestionPast {
    const { tool, plan, callId, iteration, arguments: sent, approval, kept, path } = this.#call
    this.#running.questions.checkRoom(1, path)
    const again = this.#questions.length === 0 ? "" : " The tool has changed since it was asked about before."
    const question = this.#running.questions.ask(
      {
        kind: "approval",
        name: tool,
        ...(iteration === undefined ? {} : { iteration }),
        question: `Call ${plan.remote} of ${plan.server}?${again}`,
        show: null,
        to: approval.to,
        schema: approvalSchema,
        tool: plan.remote,
        server: plan.server,
        endpoint: this.#endpoint,
        arguments: sent,
        digest: this.#digest(),
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
