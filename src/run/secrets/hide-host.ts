import type { JsonObject } from "../../base/json-value.ts"
import type { Redactor } from "./redact.ts"
import { secretTexts } from "./secret-texts.ts"

/**
 * A secret in the host of an endpoint is written otherwise once the URL is read: in lower case, or in punycode. Errors name
 * the host in that form, so it has to be hidden, too.
 */
export function hideHost(redactor: Redactor, secrets: JsonObject, endpoint: string): void {
  const hostname = URL.parse(endpoint)?.hostname
  const authority = /^[a-z][a-z0-9+.-]*:[/\\]*([^/\\?#]*)/i.exec(endpoint)?.[1]
  if (hostname === undefined || authority === undefined) return
  for (const { name, text } of secretTexts(secrets)) {
    if (!authority.includes(text) || hostname.includes(text)) continue
    const lower = text.toLowerCase()
    redactor.alsoHide(name, hostname.includes(lower) ? lower : hostname)
  }
}
