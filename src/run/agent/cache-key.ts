import { hash } from "node:crypto"
import { canonicalJson } from "../../base/canonical-json.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { Inference, ResponseFormat } from "../../plan/plan-shape.ts"
import type { HistoryItem } from "../../ports/model.ts"

/** Everything that decides an agent's answer. Secrets are in it by their names, never by their values. */
export interface CacheFacts {
  readonly backend: BackendFacts
  readonly model: string
  readonly inference: Inference
  readonly response_format: ResponseFormat
  readonly max_steps: number
  /** The history that the agent continues, and how it is summarised first. */
  readonly context: { readonly history: readonly HistoryItem[]; readonly compact: CompactFacts | null } | null
  /** The messages of this step: rendered prompts, the instruction with its parts. */
  readonly messages: readonly HistoryItem[]
  readonly tools: JsonValue
  /** Where the tools are served, by name of the server. */
  readonly servers: JsonValue
  /** JSON Schema of the output contract. */
  readonly contract: JsonObject
}

export interface BackendFacts {
  readonly endpoint: string
  readonly api_key: string | null
  readonly headers: Readonly<Record<string, string>>
}

export interface CompactFacts {
  readonly backend: BackendFacts
  readonly model: string
  readonly inference: Inference
  readonly instruction: string
}

/** Changes when the composition of the key does, so that no entry of an older release is taken for an answer. */
const version = 1

export function cacheHash(facts: CacheFacts): string {
  return hash("sha256", canonicalJson([version, facts]), "hex")
}
