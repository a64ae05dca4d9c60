import type { DemoRoute } from "./demo-api.ts"

/** What an address of the demo model means; null where there is nothing. With or without `/demo` before it. */
export function demoRoute(url: string): DemoRoute | null {
  const [address = ""] = url.split("?")
  const path = address.replace(/^\/demo(?=\/)/, "")
  switch (path) {
    case "/v1/responses":
      return { api: "responses" }
    case "/v1/chat/completions":
      return { api: "chat" }
    case "/v1/messages":
      return { api: "anthropic" }
  }
  const google = /^\/v1beta\/(?:models|tunedModels)\/(.+):(generateContent|streamGenerateContent)$/.exec(path)
  if (google === null) return null
  return { api: "google", model: decode(google[1] ?? ""), stream: google[2] === "streamGenerateContent" }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
