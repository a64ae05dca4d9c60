import { hash } from "node:crypto"
import { canonicalJson, type CanonicalText } from "../../base/canonical-json.ts"
import type { JsonValue } from "../../base/json-value.ts"
import type { ApiName } from "../../check/provider-kinds.ts"
import type { Inference, ResponseFormat } from "../../plan/plan-shape.ts"
import type { Message } from "../../ports/messages.ts"

/** Everything that decides an agent's answer. Secrets are in it by their names, never by their values. */
export interface CacheFacts extends ModelFacts {
  /** The models after the first, where there are any. */
  readonly fallbacks?: readonly ModelFacts[]
  readonly max_steps: number
  /** The history that the agent continues, and how it is summarised first. */
  readonly context: { readonly history: readonly Message[]; readonly compact: CompactFacts | null } | null
  /** The messages of this step: rendered prompts, the instruction with its parts. */
  readonly messages: readonly Message[]
  readonly tools: JsonValue
  /** Where the tools are served, by name of the server. */
  readonly servers: JsonValue
  /** JSON Schema of the output contract. */
  readonly contract: CanonicalText
}

/** How one model is asked. */
export interface ModelFacts {
  readonly backend: BackendFacts
  readonly model: string
  readonly system: string | null
  readonly inference: Inference
  readonly response_format: ResponseFormat
}

export interface BackendFacts {
  readonly api: ApiName
  readonly endpoint: string
  readonly api_key: string | null
  readonly headers: Readonly<Record<string, string>>
}

export interface CompactFacts extends SummariserFacts {
  /** The models after the first, where there are any. */
  readonly fallbacks?: readonly SummariserFacts[]
  readonly instruction: string
}

export interface SummariserFacts {
  readonly backend: BackendFacts
  readonly model: string
  readonly inference: Inference
}

/** Changes with the composition of the key and with the form of the entry: entries of older releases are then not found. */
const version = 2

export function cacheHash(facts: CacheFacts): string {
  return hash("sha256", canonicalJson([version, facts]), "hex")
}
