/** The APIs by which models are called. */
export type ApiName = "responses" | "chat" | "anthropic" | "google"

export interface ProviderKind {
  readonly api: ApiName
  /** Where calls go when the provider sets no `endpoint`; null: it has to. */
  readonly endpoint: string | null
}

const openai = "https://api.openai.com/v1"

/** Products that speak chat completions. */
const products: Readonly<Record<string, string>> = {
  ollama: "http://localhost:11434/v1",
  lmstudio: "http://localhost:1234/v1",
  vllm: "http://localhost:8000/v1",
  llamacpp: "http://localhost:8080/v1",
  openrouter: "https://openrouter.ai/api/v1",
  groq: "https://api.groq.com/openai/v1",
  mistral: "https://api.mistral.ai/v1",
  deepseek: "https://api.deepseek.com/v1",
  xai: "https://api.x.ai/v1",
  together: "https://api.together.xyz/v1",
  fireworks: "https://api.fireworks.ai/inference/v1",
  cerebras: "https://api.cerebras.ai/v1",
  perplexity: "https://api.perplexity.ai",
  cohere: "https://api.cohere.ai/compatibility/v1",
  sambanova: "https://api.sambanova.ai/v1",
}

/** The words that may follow `from` in a provider's head. */
export const providerKinds: ReadonlyMap<string, ProviderKind> = new Map<string, ProviderKind>([
  ["openai", { api: "responses", endpoint: openai }],
  ["openai_compatible", { api: "responses", endpoint: openai }],
  ["openai_chat", { api: "chat", endpoint: openai }],
  ["anthropic", { api: "anthropic", endpoint: "https://api.anthropic.com/v1" }],
  ["anthropic_compatible", { api: "anthropic", endpoint: null }],
  ["google", { api: "google", endpoint: "https://generativelanguage.googleapis.com/v1beta" }],
  ...Object.entries(products).map(([name, endpoint]): [string, ProviderKind] => [name, { api: "chat", endpoint }]),
])

/** Names of models and companies that people write for the kind. */
const others: ReadonlyMap<string, string> = new Map([
  ["claude", "anthropic"],
  ["gemini", "google"],
  ["gpt", "openai"],
  ["chatgpt", "openai"],
  ["azure", "openai"],
  ["grok", "xai"],
  ["llama", "llamacpp"],
  ["llama_cpp", "llamacpp"],
  ["lm_studio", "lmstudio"],
])

/** The kind that the author probably wanted, for a word that is not one. */
export function meantKind(
  word: string,
  suggest: (name: string, known: Iterable<string>) => string | undefined,
): string | undefined {
  const lower = word.toLowerCase()
  if (providerKinds.has(lower)) return lower
  return others.get(lower) ?? suggest(lower, [...providerKinds.keys(), ...others.keys()])
}

/** The API that `wire_api` names. */
export const wireApis: ReadonlyMap<string, ApiName> = new Map([
  ["responses", "responses"],
  ["chat/completion", "chat"],
  ["chat/completions", "chat"],
])

/** Settings of `inference` that an API does not have. */
export const ignoredSettings: Readonly<Record<ApiName, readonly string[]>> = {
  responses: ["top_k", "frequency_penalty", "presence_penalty", "repeat_penalty"],
  chat: [],
  anthropic: ["seed", "verbosity", "frequency_penalty", "presence_penalty", "repeat_penalty"],
  google: ["verbosity", "repeat_penalty"],
}

/** OpenAI's own chat completions take fewer settings than those of others. */
export const ignoredByOpenAiChat: readonly string[] = ["top_k", "repeat_penalty"]

/** Options of a document that is an asset, and the APIs that have them. */
export const assetOptions: Readonly<Record<"context" | "citations", readonly ApiName[]>> = {
  context: ["anthropic"],
  citations: ["anthropic"],
}
