import { hash } from "node:crypto"
import { canonicalJson, type CanonicalText } from "../../base/canonical-json.ts"
import type { JsonValue } from "../../base/json-value.ts"
import type { ApiName } from "../../check/provider-kinds.ts"
import type { Inference, ResponseFormat } from "../../plan/plan-shape.ts"
import type { Message } from "../../ports/messages.ts"

/** Everything that decides an agent's answer. Secrets are in it by their names, never by their values. */
export interface CacheFacts extends ModelFacts {
  /** The models after the first, where there are any. */
  readonly fallbacks?: readonly ModelFacts[] | undefined
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
  /** `BackendFacts`, which all steps of a run share. */
  readonly backend: CanonicalText
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
  readonly backend: CanonicalText
  readonly model: string
  readonly inference: Inference
}

/** Changes with the composition of the key and with the form of the entry: entries of older releases are then not found. */
const version = 2

export function cacheHash(facts: CacheFacts): string {
  return hash("sha256", `[${version},${factsText(facts)}]`, "hex")
}

/** The canonical JSON of the facts. Written out because every step of a run makes it: this takes a third of the time. */
export function factsText(facts: CacheFacts): string {
  const { backend, context, contract, fallbacks, inference, max_steps, messages, model, servers, system, tools } = facts
  const others = fallbacks === undefined ? "" : `"fallbacks":${canonicalJson(fallbacks)},`
  const history = context === null ? "null" : canonicalJson(context)
  return (
    `{"backend":${backend.text},"context":${history},"contract":${contract.text},${others}` +
    `"inference":${inferenceText(inference)},"max_steps":${max_steps},"messages":[${messages.map(messageText).join(",")}],` +
    `"model":${JSON.stringify(model)},"response_format":${canonicalJson(facts.response_format)},` +
    `"servers":${canonicalJson(servers)},"system":${JSON.stringify(system)},"tools":${canonicalJson(tools)}}`
  )
}

/** Plans are run again and again. */
const inferenceTexts = new WeakMap<Inference, string>()

function inferenceText(inference: Inference): string {
  let text = inferenceTexts.get(inference)
  if (text === undefined) {
    text = canonicalJson(inference)
    inferenceTexts.set(inference, text)
  }
  return text
}

function messageText(message: Message): string {
  const [part] = message.role === "user" && message.parts.length === 1 ? message.parts : []
  if (part?.type !== "text") return canonicalJson(message)
  return `{"parts":[{"text":${JSON.stringify(part.text)},"type":"text"}],"role":"user"}`
}
