/** OpenAI's own, rather than one of those that are compatible with it. */
export function isOpenAi(endpoint: string): boolean {
  return URL.parse(endpoint)?.hostname === "api.openai.com"
}
