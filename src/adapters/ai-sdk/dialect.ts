import type { LanguageModelV4 } from "@ai-sdk/provider"
import type { JsonObject } from "../../base/json-value.ts"
import type { ApiName } from "../../check/provider-kinds.ts"
import type { Backend, ModelRequest } from "../../ports/model.ts"
import type { Ask } from "../model-turn/model-api.ts"
import type { Rung } from "../model-turn/output-format.ts"

/** A `fetch` that sends through egress. */
export type Fetch = typeof globalThis.fetch

/** One of the APIs that a package of the AI SDK speaks, and what we do around the package. */
export interface Dialect {
  readonly name: ApiName
  readonly ladder: readonly Rung[]
  /** For an address that has nothing of this API: which kind of provider it may be of. */
  readonly other_kind: string
  /** Rungs that cannot be asked for while documents are to be cited. */
  readonly excludes_citations: readonly Rung[]
  /** Rungs that cannot be asked for while tools are offered. */
  readonly excludes_tools: readonly Rung[]
  demoEndpoint(endpoint: string): string
  /** The package's model; it gets no address and no key that matters, because `fetch` ignores both. */
  model(id: string, fetch: Fetch): LanguageModelV4
  url(endpoint: string, model: string, stream: boolean): string
  /** How the key is sent, and what else the API wants in its headers. */
  headers(backend: Backend): Record<string, string>
  /** What `inference` sets, under the API's names. */
  options(request: ModelRequest): JsonObject
  /** The option that bounds the output tokens. */
  maxTokens(most: number, backend: Backend): JsonObject
  /** The top-level fields of a body that `extra` may not touch. */
  readonly reserved: readonly string[]
  /** Completes the package's body: options and the output format. */
  finish(body: JsonObject, ask: Ask): JsonObject
  /** A reason why this whole answer, or this event of a stream, is not one: a blocked prompt, an answer of another API. */
  problem(body: JsonObject): string | null
  /** Whether a tool call can have this id. */
  takesId(id: string, endpoint: string): boolean
  /** The longest id that is made for one that cannot be sent. */
  readonly id_length: (endpoint: string) => number
}

/** The tool that carries the output where an API gets it by a forced tool call. */
export const answerTool = "give_answer"
