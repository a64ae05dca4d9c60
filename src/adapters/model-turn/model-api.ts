import type { BatchAnswer } from "../../ports/batch-seat.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { ApiName } from "../../check/provider-kinds.ts"
import type { Egress, EgressLimits } from "../../ports/egress.ts"
import type { AssistantMessage, Message, ModelToolCall } from "../../log/messages.ts"
import type {
  Backend,
  HostedUse,
  MadeMedia,
  ModelRequest,
  ModelWatch,
  ResponseFacts,
  ToolDefinition,
} from "../../ports/model.ts"

import type { SentRequest } from "../../ports/sent-request.ts"
import type { TokenUsage } from "../../log/events.ts"
import type { BatchApi } from "./batch-api.ts"
import type { BackendQuirks } from "./backend-memory.ts"
import type { SentBeginnings } from "./sent-beginnings.ts"
import type { ContractForm, SchemaFormatLevel, FormatLevel } from "./output-format.ts"
import type { Sent } from "./refused-field.ts"

// What the turn loop needs to know of an API by which models are called. Everything else about a turn is the same for all
// of them: the ladder of output formats, validation and repairs, retries, progress, what is remembered about a backend.

export interface ModelApi {
  readonly name: ApiName
  /** For an address that has nothing of this API: which kind of provider it may be of. */
  readonly otherKind: string
  /** Absent where calls are not made in batches. */
  readonly batches?: BatchApi
  /** How the key is sent, and what else the API wants in its headers. */
  headers(backend: Backend): Record<string, string>
  /** Throws a `RunFailure` when the request cannot be made. */
  begin(parts: ApiTurnParts): ApiTurn
}

export interface ApiTurnParts {
  readonly request: ModelRequest
  readonly quirks: BackendQuirks
  readonly beginnings: SentBeginnings
  readonly egress: Egress
  /** The base address; never `demo`. */
  readonly endpoint: string
}

export interface ApiTurn {
  /** The ways to ask for structured output that the API has for this request, from the tightest to the loosest. */
  readonly ladder: readonly FormatLevel[]
  /** Whether the rung `strict` can carry this contract. */
  takesStrict(form: ContractForm): boolean
  /** The optional fields of a request, under the API's names. */
  options(tools: boolean): JsonObject
  /** The option that bounds the output tokens. */
  maxTokens(most: number): JsonObject
  /** Whether the API cannot ask for output in this way while it offers tools. */
  excludesTools(formatLevel: FormatLevel): boolean
  build(ask: Ask): Built
}

/** One call: what to ask for. */
export interface Ask {
  readonly input: readonly Message[]
  /** Follows the input in this turn only. */
  readonly added: readonly Message[]
  /** The contract in words, where the format does not carry it. */
  readonly instruction: string | null
  readonly options: JsonObject
  readonly format: { readonly formatLevel: SchemaFormatLevel; readonly form: ContractForm } | null
  readonly tools: readonly ToolDefinition[]
  /** Tools that the provider hosts. */
  readonly hosted: readonly JsonObject[]
  readonly stream: boolean
}

/** A request that is ready to be sent. */
export interface Built {
  /** Where it is sent. */
  readonly url: string
  /** JSON text, written when it is first asked for. Throws a `RunFailure` when the request cannot be made. */
  body(): string
  /** Tokens of all that is sent, before anything is sent. */
  estimate(): number
  /** The parts of it that the backend may refuse. */
  readonly sent: Sent
  /** Rejects with an `UpstreamFailure`, or with what egress throws; throws what `body` throws. */
  send(call: Call): Promise<Answer>
}

export interface Call {
  readonly attempt: number
  readonly limits: EgressLimits
  readonly watch: ModelWatch
  readonly now: () => number
  /** Called right before the request is sent. */
  readonly sent?: (request: SentRequest) => void
  /** Called where the backend says that nothing is left of its rate, and when there is again, in milliseconds. */
  readonly exhausted?: (ms: number) => void
  /** Answers in place of the backend: the call was made in a batch. */
  readonly made?: BatchAnswer
}

/** A whole answer of a backend, secrets already replaced. */
export interface Answer {
  readonly text: string
  readonly tool_calls: readonly ModelToolCall[]
  readonly usage: TokenUsage | null
  /** The backend reasoned without showing it. */
  readonly hidesReasoning: boolean
  /** What the provider's own tools did. Absent where they did nothing. */
  readonly hosted?: readonly HostedUse[]
  /** Images or sound that the model made, decoded when they are asked for. Absent where it made none. */
  readonly media?: () => readonly MadeMedia[]
  /** Absent where nothing is known of it. */
  readonly response?: ResponseFacts
  /** The provider has stopped in the middle of its own tools' work, and goes on when the answer is sent back. */
  readonly isPaused?: true
  /** The answer for the history, with this text and these calls in place of its own. */
  toMessage(text: string, tool_calls: readonly ModelToolCall[]): AssistantMessage
}
