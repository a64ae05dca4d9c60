import { parseInOrder } from "../../base/ordered-object.ts"
import { cutText } from "../../base/cut-text.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { modelPauses, runQuotedBytes } from "../../base/limits.ts"
import { assistantText, userText, type AssistantMessage, type AssistantPart, type Message } from "../../log/messages.ts"
import { defaultRepairs } from "../../plan/inference-defaults.ts"
import { rejectionReason, type ModelRequest, type ModelWatch } from "../../ports/model.ts"
import type { RetriedCalls } from "./call-with-retries.ts"
import type { Fit } from "./fit-output.ts"
import type { Answer } from "./model-api.ts"

/** Sends answers back that cannot be used: the model is asked again. */
export class AnswerRepairs {
  readonly #request: ModelRequest
  readonly #watch: ModelWatch
  readonly #retried: RetriedCalls
  #made: number
  #added: readonly Message[]

  constructor(request: ModelRequest, watch: ModelWatch, retried: RetriedCalls) {
    this.#request = request
    this.#watch = watch
    this.#retried = retried
    this.#made = request.progress?.repairs ?? 0
    this.#added = request.progress?.added ?? []
  }

  /** How many answers were sent back. */
  get made(): number {
    return this.#made
  }

  /** Said after the conversation: an answer that did not fit, and what is wrong with it. */
  get added(): readonly Message[] {
    return this.#added
  }

  /** The tool loop is over, but its last words do not fit: one call for the structured output, without tools. */
  async close(answer: Answer, fit: Fit & { readonly fits: false }): Promise<null> {
    const list = fit.came === "bare" ? `\n${listOf(fit.problems)}` : ""
    this.#added = this.#addition(answer, `Now give the result as one JSON object, and nothing else.${list}`)
    if (fit.came === "bare") {
      this.#made++
      await this.#retried.again(reasonOf(fit))
    }
    return null
  }

  /** Asks again with the list of what is wrong, as often as the workflow allows. */
  async repair(answer: Answer, fit: Fit & { readonly fits: false }): Promise<null> {
    const { output_retries = defaultRepairs } = this.#request.inference
    if (this.#made >= output_retries) {
      const kind = this.#request.contract === null ? "provider_error" : "output_error"
      throw this.#retried.failForAnswer(kind, fit.issues, this.#shownAnswer(answer))
    }
    this.#made++
    const wrong = listOf(fit.problems)
    const asked = `Your answer does not fit what was asked for:\n${wrong}\nAnswer again, whole and corrected.`
    this.#added = this.#addition(answer, asked)
    await this.#retried.again(reasonOf(fit), fit.rejections)
    return null
  }

  /** What the provider said before it paused: the answer goes on from there. */
  get paused(): readonly AssistantPart[] {
    return this.#pauses().flatMap(({ parts }) => parts)
  }

  /** Sends what the provider has done so far back to it. */
  async goOn(answer: Answer): Promise<void> {
    const made = this.#pauses().length
    if (made >= modelPauses) {
      const message = `The provider paused its own tools ${made + 1} times in one turn; at most ${modelPauses} are allowed`
      throw this.#retried.fail("limit_exceeded", [{ path: this.#request.path, message }])
    }
    this.#added = [...this.#added, answer.toMessage(answer.text, [])]
    await this.#retried.again("The provider has paused its own tools: asked to go on")
  }

  /** The messages of the model that nothing was said after. */
  #pauses(): AssistantMessage[] {
    const first = this.#added.findLastIndex(({ role }) => role !== "assistant") + 1
    return this.#added.slice(first).filter((message) => message.role === "assistant")
  }

  /** The answer that could not be used, and what the model is asked to do about it. Problems may quote the answer. */
  #addition(answer: Answer, asked: string): Message[] {
    const shown = this.#shownAnswer(answer)
    const parts = answer.hosted === undefined ? null : [...this.paused, ...answer.toMessage(shown, []).parts]
    const said: Message[] =
      parts !== null ? [{ role: "assistant", parts }] : answer.text === "" ? [] : [assistantText(shown)]
    return [...said, userText(this.#watch.redact(asked))]
  }

  #shownAnswer({ text }: Answer): string {
    return cutText(redactJson(this.#watch, text), runQuotedBytes)
  }
}

export function misfit(path: string, problem: string): Fit & { readonly fits: false } {
  return { fits: false, problems: [problem], issues: [{ path, message: `${path}: ${problem}` }], came: "loose" }
}

function listOf(problems: readonly string[]): string {
  return problems.map((problem) => `- ${problem}`).join("\n")
}

function reasonOf(fit: Fit & { readonly fits: false }): string {
  const more = fit.issues.length - 1
  if (fit.rejections !== undefined) return rejectionReason(fit.rejections)
  return `The output does not fit its contract: ${fit.issues[0].message}${more > 0 ? ` (and ${more} more)` : ""}`
}

/** JSON within a string (arguments, a rejected answer): escapes may hide a secret from the search of the string. */
export function redactJson(watch: Pick<ModelWatch, "redact">, text: string): string {
  try {
    const value = parseInOrder(text) as JsonValue
    const redacted = watch.redact(value)
    return redacted === value ? text : JSON.stringify(redacted)
  } catch {
    return text
  }
}
