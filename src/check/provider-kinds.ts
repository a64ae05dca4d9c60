/** The APIs by which models are called. */
export type ApiName = "responses" | "chat" | "anthropic" | "google"

export interface ProviderKind {
  readonly api: ApiName
  /** Where calls go when the provider sets no `endpoint`. */
  readonly endpoint: string
}

const openai: ProviderKind = { api: "responses", endpoint: "https://api.openai.com/v1" }

/** The words that may follow `from` in a provider's head. */
export const providerKinds: ReadonlyMap<string, ProviderKind> = new Map([
  ["openai", openai],
  ["openai_compatible", openai],
])
