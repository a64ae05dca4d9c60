import { hash } from "node:crypto"
import { canonicalJson, type CanonicalText } from "../../base/canonical-json.ts"
import type { JsonValue } from "../../base/json-value.ts"
import type { ApiName } from "../../check/provider-kinds.ts"
import type { Inference, ResponseFormat } from "../../plan/plan-shape.ts"
import type { Message } from "../../log/messages.ts"

/** Everything that decides an agent's answer. Secrets are in it by their names, never by their values. */
export interface CacheFacts {
  /** What its source alone decides: a hash that is made once for a plan. */
  readonly fixed: string
  /** In the order in which they are asked. */
  readonly models: readonly ModelFacts[]
  /** The history that the agent continues, and how it is summarised first. */
  readonly context: { readonly history: readonly Message[]; readonly compact: CompactFacts | null } | null
  /** The messages of this step: rendered prompts, the instruction with its parts. */
  readonly messages: readonly Message[]
  readonly tools: readonly JsonValue[]
  /** Where the tools are served, by name of the server. */
  readonly servers: readonly JsonValue[]
  /** What the output must fulfil besides its type, where there is anything. */
  readonly requirements?: JsonValue
}

export interface FixedFacts {
  readonly max_steps: number
  /** JSON Schema of the output contract. */
  readonly contract: JsonValue
  /** How each model is asked. */
  readonly calls: readonly { readonly inference: Inference; readonly response_format: ResponseFormat }[]
}

/** One model, as a run asks it. */
export interface ModelFacts {
  /** `BackendFacts`, which all steps of a run share. */
  readonly backend: CanonicalText
  readonly model: string
  readonly system: string | null
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
  readonly backend: CanonicalText
  readonly model: string
  readonly inference: Inference
}

/** Changes with the composition of the key and with the form of the entry: entries of older releases are then not found. */
const version = 3

export function fixedHash(facts: FixedFacts): string {
  return hash("sha256", canonicalJson(facts), "hex")
}

export function cacheHash(facts: CacheFacts): string {
  return hash("sha256", `[${version},${factsText(facts)}]`, "hex")
}

/** The canonical JSON of the facts. Written out because every step of a run makes it. */
export function factsText({ context, fixed, messages, models, requirements, servers, tools }: CacheFacts): string {
  const history = context === null ? "null" : canonicalJson(context)
  const required = requirements === undefined ? "" : `"requirements":${canonicalJson(requirements)},`
  return (
    `{"context":${history},"fixed":"${fixed}","messages":[${textOfAll(messages, messageText)}],` +
    `"models":[${textOfAll(models, modelText)}],${required}"servers":${listText(servers)},"tools":${listText(tools)}}`
  )
}

function textOfAll<T>(items: readonly T[], textOf: (item: T) => string): string {
  const [only] = items
  return items.length === 1 && only !== undefined ? textOf(only) : items.map(textOf).join(",")
}

function listText(items: readonly JsonValue[]): string {
  return items.length === 0 ? "[]" : canonicalJson(items)
}

function modelText({ backend, model, system }: ModelFacts): string {
  return `{"backend":${backend.text},"model":${JSON.stringify(model)},"system":${JSON.stringify(system)}}`
}

function messageText(message: Message): string {
  const [part] = message.role === "user" && message.parts.length === 1 ? message.parts : []
  if (part?.type !== "text") return canonicalJson(message)
  return `{"parts":[{"text":${JSON.stringify(part.text)},"type":"text"}],"role":"user"}`
}
