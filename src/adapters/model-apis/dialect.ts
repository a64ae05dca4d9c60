import type { JsonObject } from "../../base/json-value.ts"
import type { ApiName } from "../../check/provider-kinds.ts"
import type { Backend, ModelRequest, ToolDefinition } from "../../ports/model.ts"
import type { Ask } from "../model-turn/model-api.ts"
import type { ContractForm, FormatLevel } from "../model-turn/output-format.ts"
import type { Turn } from "./conversation.ts"
import type { Fold } from "./fold-events.ts"
import type { Result } from "./result.ts"

/** What a request says, before its options and its output format. */
export interface Conversation {
  readonly model: string
  readonly system: string | null
  readonly turns: readonly Turn[]
  readonly tools: readonly ToolDefinition[]
  /** The tool that the model has to call. */
  readonly forced: string | null
}

/** One of the APIs by which models are called, and how it differs from the others. */
export interface Dialect {
  readonly name: ApiName
  readonly ladder: readonly FormatLevel[]
  /** Whether the rung `strict` can carry this contract. Absent: where it fits OpenAI's strict mode. */
  readonly takesStrict?: (form: ContractForm) => boolean
  /** For an address that has nothing of this API: which kind of provider it may be of. */
  readonly other_kind: string
  /** Rungs that cannot be asked for while documents are to be cited. */
  readonly excludes_citations: readonly FormatLevel[]
  /** Rungs that cannot be asked for while tools are offered. */
  readonly excludes_tools: readonly FormatLevel[]
  demoEndpoint(endpoint: string): string
  url(endpoint: string, model: string, stream: boolean): string
  /** How the key is sent, and what else the API wants in its headers. */
  headers(backend: Backend): Record<string, string>
  /** What `inference` sets, under the API's names. */
  options(request: ModelRequest): JsonObject
  /** The option that bounds the output tokens. */
  maxTokens(most: number, backend: Backend): JsonObject
  /** The top-level fields of a body that `extra` may not touch. */
  readonly reserved: readonly string[]
  write(conversation: Conversation): JsonObject
  /** Completes what `write` wrote: options, the output format, the stream. */
  finish(body: JsonObject, ask: Ask): JsonObject
  /** Reads a whole answer; null when it is none. */
  read(body: JsonObject): Result | null
  /** Begins to read a streamed answer. */
  fold(): Fold
  /** A reason why this whole answer, or this event of a stream, is not one: a blocked prompt, an answer of another API. */
  problem(body: JsonObject): string | null
  /** Whether a tool call can have this id. */
  takesId(id: string, endpoint: string): boolean
  /** The longest id that is made for one that cannot be sent. */
  readonly id_length: (endpoint: string) => number
}
