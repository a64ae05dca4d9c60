import type { JsonObject } from "../../base/json-value.ts"
import type { Redactor } from "./redact.ts"
import { secretTexts } from "./secret-texts.ts"

/**
 * A secret in the host of an endpoint is written otherwise once the URL is read: in lower case, or in punycode. Errors name
 * the host in that form, so it has to be hidden, too.
 */
export function hideHost(redactor: Redactor, secrets: JsonObject, endpoint: string): void {
  const authority = /^[a-z][a-z0-9+.-]*:[/\\]*([^/\\?#]*)/i.exec(endpoint)?.[1]
  if (authority === undefined) return
  const held = secretTexts(secrets).filter(({ text }) => authority.includes(text))
  // Most hosts hold none, and it takes longer to read a URL than to look.
  const hostname = held.length === 0 ? undefined : URL.parse(endpoint)?.hostname
  if (hostname === undefined) return
  for (const { name, text } of held) {
    if (hostname.includes(text)) continue
    const lower = text.toLowerCase()
    redactor.alsoHide(name, hostname.includes(lower) ? lower : hostname)
  }
}
