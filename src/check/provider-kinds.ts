export interface ProviderKind {
  /** Where calls go when the provider sets no `endpoint`. */
  readonly endpoint: string
}

const openai: ProviderKind = { endpoint: "https://api.openai.com/v1" }

/** The words that may follow `from` in a provider's head. */
export const providerKinds: ReadonlyMap<string, ProviderKind> = new Map([
  ["openai", openai],
  ["openai_compatible", openai],
])
