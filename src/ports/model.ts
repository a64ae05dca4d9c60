import type { Arrival, Arrivals } from "./egress.ts"
import type { Gate } from "./gate.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { ApiName } from "../check/provider-kinds.ts"
import type { Inference, MediaKind, PromptCacheWord, ResponseFormat } from "../plan/plan-shape.ts"
import type { Price } from "../plan/price-of-model.ts"
import type { ModelCallRecord, Rejection, TokenUsage, Usage } from "../log/events.ts"
import type { RecordType, TypeTable } from "../types/types.ts"
import type { AssistantMessage, Message, ModelToolCall } from "../log/messages.ts"
import type { RetryProgress, TurnProgress } from "../log/turn-progress.ts"
import type { BatchSeat } from "./batch-seat.ts"
import type { SentRequest } from "./sent-request.ts"

/** Images or sound that a model made. */
export interface MadeMedia {
  readonly media_type: string
  readonly bytes: Uint8Array
}

/** Where calls go and as whom. Secret values are plain here: the adapter is the only one that sends them. */
export interface Backend {
  readonly api: ApiName
  /** The base address; `demo` is the service's own demo model. */
  readonly endpoint: string
  readonly api_key: string | null
  readonly headers: Readonly<Record<string, string>>
}

/** The header that tells the demo model who asks: the run, and the model that it declares. */
export const callerHeader = "x-demo-caller"

export interface ToolDefinition {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments, bound ones already taken out. */
  readonly parameters: JsonObject
}

/** One use of a tool that a provider hosts. */
export interface HostedUse {
  /** Without its date. */
  readonly type: string
  /** At most 2 KB. */
  readonly summary: string
}

/** The structured output that an agent owes. */
export interface OutputContract {
  /** Name for the schema on the wire: the agent's. */
  readonly name: string
  readonly type: RecordType
  readonly types: TypeTable
  /** What an output must fulfil besides its type, where there is anything. */
  readonly requirements?: JudgedRequirements
}

export interface JudgedRequirements {
  /** All that decides which outputs fulfil them: what was recorded with others does not answer. */
  readonly facts: JsonValue
  /** Resolves to the requirements that an output does not fulfil. Rejects with a `RunFailure` where judging exceeds a limit of the run. */
  rejections(output: JsonObject): Promise<readonly Rejection[]>
}

export interface ModelRequest {
  readonly run_id: string
  /** The caller who started the run: what is learned about a backend from one caller's calls changes only that caller's requests. */
  readonly caller: string
  /** The place in the workflow that errors name: `agent.review`. */
  readonly path: string
  /** The step, with its position in a loop: what its calls are named by. Calls have no names without it. */
  readonly step?: string
  readonly backend: Backend
  /** The backend's id of the model. */
  readonly model: string
  /** The declared name of the model, the kind of its provider, and its price: they go into the call records. */
  readonly name: string
  readonly provider: string
  readonly price: Price | null
  /** The price is not the one of the model's declaration: the records say which it is. */
  readonly isOwnPrice?: boolean
  /** The system text; it is not part of the conversation. */
  readonly system: string | null
  /** The whole conversation, oldest first. */
  readonly input: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  /** Tools that the provider hosts, as the workflow states them. Absent where there are none. */
  readonly hosted_tools?: readonly JsonObject[]
  /** The model makes these, and the contract has a field for them. Absent where an answer is text alone. */
  readonly outputs?: readonly MediaKind[]
  /** Null: any text will do (a compaction). */
  readonly contract: OutputContract | null
  readonly response_format: ResponseFormat
  readonly inference: Inference
  /** Which turn of the agent this is, from 1; goes into the call records. */
  readonly turn: number
  /** How many attempts of this turn the log knows of, and how far they came: a resumed run continues there. */
  readonly attempts_before: number
  readonly progress: TurnProgress | null
  /** Stream upstream and report text as it comes. */
  readonly deltas: boolean
  /** Absent for what is asked once. */
  readonly cache?: PromptCache
  /** The answer is streamed, though nobody is shown its text: others wait until it begins. */
  readonly isAhead?: true
}

/**
 * The beginning of a request that stays the same from call to call: tools, system text, then the conversation. It ends in the system text, or
 * after some messages and some parts and characters of the next.
 */
export interface StablePart {
  /** Characters of the system text; null: all of it. */
  readonly system: number | null
  /** Whole messages of the input. */
  readonly messages: number
  /** Whole parts of the message after them, and characters of the part after those. */
  readonly parts: number
  readonly characters: number
}

/** What a request says about the backend's cache of prompts. */
export interface PromptCache {
  readonly mode: PromptCacheWord
  /** The file states it: it is obeyed at any endpoint, and for private values. */
  readonly isWritten: boolean
  /** Others with the same beginning follow at once: it is one of a loop. */
  readonly isLooped: boolean
  readonly holdsPrivate: boolean
  readonly stable: StablePart
}

/** A model call that wants to be made: where it goes, and the most tokens that it may use. */
export interface PacingRequest {
  /** The declared model. */
  readonly model: string
  readonly backend: Backend
  readonly tokens: () => number
}

/** A call that may be made now, as far as rates and pauses go. */
export interface PacedCall {
  /** The backend asked for a pause, in milliseconds; null: it did not say how long. */
  holdBack(ms: number | null): void
  /** The call is over. `tokens` is what it used; null where nobody knows. */
  ended(tokens: number | null, answered: boolean): void
}

export interface ModelWatch {
  readonly signal: AbortSignal
  /** The run's own time, in milliseconds since the epoch: what the times in its log are taken from. */
  now(): number
  /** Passed right before every request: retries, repairs and closing calls too. */
  readonly gate: Gate
  /** Awaited before the call is reserved. A promise only where the call has to wait for its turn. Absent where nothing paces calls. */
  readonly pace?: (request: PacingRequest) => PacedCall | Promise<PacedCall>
  /**
   * In a run with limits or budgets: awaited right before every request. Resolves when there is room for the call, and its start is
   * in the log; rejects when it does not fit any more.
   */
  readonly reserve?: (call: CallToReserve) => Promise<Reservation>
  /** The step's place in a batch: its calls are made there. */
  readonly batch?: BatchSeat
  /** Count what has arrived of answers, and what has arrived in this turn. */
  readonly arrivals?: Arrivals
  readonly arrival?: Arrival
  /**
   * Awaited before the wait begins, so that the retry is in the log first. `attempt` is the one about to be made; it is
   * made because the one before it failed, was refused (`delay_ms` 0), or did not fit the contract (`delay_ms` 0).
   */
  retried(retry: Retry): Promise<void>
  delta(attempt: number, text: string): void
  /** Called with what the provider's own tools did for an answer. Throws where the limits of the run have no room for it. */
  hosted?(uses: readonly HostedUse[]): void
  /** Stores what the model made; resolves to what an output has in its place. Absent where nothing is kept. */
  keep?(media: MadeMedia, at: number): Promise<JsonObject>
  /** Called when the first piece of an answer is there. */
  began?(): void
  /** Called when a call is over, however it ended. */
  ended?(call: ModelCallRecord): void
  /** Called with what the backend says of an answer. Absent where nobody wants to know. */
  responded?(turn: number, attempt: number, response: ResponseFacts): void
  /** Called with each request right before it is sent, as the backend gets it. Absent where requests are not kept. */
  readonly sent?: (call_id: string, request: SentRequest) => void
  /** How a declared model signs in, for messages. */
  readonly login?: (model: string) => Login
  /** Replaces secrets in everything that came from outside, before anything else reads it. */
  redact<T extends JsonValue>(value: T): T
  /** The same for a text that comes in pieces. */
  redactStream(): RedactStream
}

/** The declared provider of a model, and the secrets that it sends as its key or in its headers, by name. */
export interface Login {
  readonly provider: string
  readonly secrets: readonly string[]
}

/** The backend's own words for an answer: nothing of what the model says. */
export type ResponseFacts = {
  readonly id?: string
  readonly model?: string
  readonly finish_reasons?: string[]
}

/** Why an output was sent back by requirements, in a sentence. */
export function rejectionReason(rejections: readonly Rejection[]): string {
  const more = rejections.length - 1
  return `The output does not fulfil its requirements: ${rejections[0]?.message}${more > 0 ? ` (and ${more} more)` : ""}`
}

/** The announcement of one more attempt. */
export interface Retry {
  readonly attempt: number
  readonly reason: string
  readonly delay_ms: number
  readonly progress: RetryProgress
  /** The requirements that sent the output back, where they did. */
  readonly requirements?: readonly Rejection[]
}

/** What a call may use at most. */
export interface CallToReserve {
  readonly turn: number
  readonly attempt: number
  /** The declared model, the backend's id of it, and its price. */
  readonly model: string
  readonly id: string
  readonly price: Price | null
  /** How the backend is asked to cache. */
  readonly cache?: PromptCacheWord | null
  /** Uses of hosted tools that are expected of it, by type. Absent where there are none. */
  readonly hosted?: Readonly<Record<string, number>>
  /** Estimated tokens of all that is sent. */
  readonly input_tokens: number
  /** Most output tokens, where the workflow sets them. */
  readonly max_tokens: number | null
  /** The fewest output tokens that are of use: an answer with fewer was cut off. Absent: 1. */
  readonly least?: number | undefined
}

export interface Reservation {
  /** Most output tokens, always sent to the backend, even if it has refused the field; null where the run sets no limit. */
  readonly max_tokens: number | null
  /** The call is over: what its backend reported, and whether there is an answer, or was one to come when it was cut off. */
  settle(usage: TokenUsage | null, answered: boolean): void
}

interface TurnBase {
  /** The answer that held, to be appended to the history. Failed attempts and repairs are not part of it. */
  readonly message: AssistantMessage
  readonly calls: readonly ModelCallRecord[]
  readonly usage: Usage
}

export type ModelTurn =
  | (TurnBase & { readonly kind: "tool_calls"; readonly tool_calls: readonly ModelToolCall[] })
  | (TurnBase & { readonly kind: "output"; readonly output: JsonObject })
  | (TurnBase & { readonly kind: "text"; readonly text: string })

/** One turn with a model: retries, the ladder of output formats, and repairs are the client's business. */
export interface ModelClient {
  /**
   * Rejects with a `RunFailure` (issues with an empty path are the agent's; its `calls` tell what was tried), with an
   * `AnswerFailure` where the model's answer is the reason, or, once the signal aborts, with anything; either way no socket
   * of the call is open by then. `text` in spite of a contract
   * means that the backend gives no structured output while tools are offered: the caller then makes one closing turn
   * without tools.
   */
  turn(request: ModelRequest, watch: ModelWatch): Promise<ModelTurn>
}

/** Redacts a text that comes in pieces. */
export interface RedactStream {
  /** The text that can be shown now. */
  push(piece: string): string
  /** The rest, when the text is at its end. */
  end(): string
}
