import type { JsonObject } from "../../base/json-value.ts"
import type { TalkApiName } from "../../check/provider-kinds.ts"
import type { Backend, ModelRequest, ModelWatch } from "../../ports/model.ts"
import type { BackendQuirks } from "../model-turn/backend-memory.ts"
import type { BatchApi } from "../model-turn/batch-api.ts"
import type { Answer, ApiTurnParts, Ask } from "../model-turn/model-api.ts"
import type { ContractForm, FormatLevel } from "../model-turn/output-format.ts"
import type { Folded } from "./fold-events.ts"

/** One of the APIs by which models are called, and how it differs from the others. */
export interface Dialect extends Folded {
  readonly name: TalkApiName
  readonly ladder: readonly FormatLevel[]
  /** Whether the rung `strict` can carry this contract. Absent: where it fits OpenAI's strict mode. */
  readonly takesStrict?: (form: ContractForm) => boolean
  /** For an address that has nothing of this API: which kind of provider it may be of. */
  readonly otherKind: string
  /** Rungs that cannot be asked for while documents are to be cited. */
  readonly excludesCitations?: readonly FormatLevel[]
  /** Rungs that cannot be asked for while tools are offered. */
  readonly excludesTools?: readonly FormatLevel[]
  /** Tools have a field `strict`, which a backend may refuse. */
  readonly strict_tools?: true
  url(endpoint: string, model: string, stream: boolean): string
  /** How the key is sent, and what else the API wants in its headers. */
  headers(backend: Backend): Record<string, string>
  /** The settings in `inference`, under the API's names, and its `extra`. */
  options(request: ModelRequest): JsonObject
  /** The same for a request that offers tools. Absent: there is no difference. */
  toolOptions?(options: JsonObject, request: ModelRequest, quirks: BackendQuirks): JsonObject
  /** How calls are made in batches. Absent: they are not. */
  readonly batches?: BatchApi
  /** The option that bounds the output tokens. */
  maxTokens(most: number, backend: Backend): JsonObject
  /** Begins a turn: the result writes the body of each of its calls. */
  writer(parts: ApiTurnParts): BodyWriter
  /** Reads a whole answer. Throws an `UpstreamFailure`. */
  read(body: JsonObject, about: Reading): Answer
}

/** Writes a body as JSON text. `reasoning`: the model's own reasoning goes back to it. Throws a `RunFailure`. */
export type BodyWriter = (ask: Ask, reasoning: boolean) => string

/** What the reader of an answer has to know besides its body. */
export interface Reading {
  readonly retryAfterMs: number | null
  /** Names backend and model: marks the parts of the answer that only they understand. */
  readonly origin: string
  readonly watch: Pick<ModelWatch, "redact">
}
