import type { JsonObject } from "../../base/json-value.ts"
import type { Redactor } from "./redact.ts"
import { secretTexts } from "../../ports/secret-texts.ts"

/**
 * A secret in the host of an endpoint is written otherwise once the URL is read: in lower case, or in punycode; and where the
 * secret goes beyond the host, errors show the part of it that names the host. So the host's form in errors has to be hidden, too.
 */
export function hideHost(redactor: Redactor, secrets: JsonObject, endpoint: string): void {
  const [, scheme = "", authority] = /^([a-z][a-z0-9+.-]*:[/\\]*)([^/\\?#]*)/i.exec(endpoint) ?? []
  if (authority === undefined) return
  const [from, to] = [scheme.length, scheme.length + authority.length]
  const held = secretTexts(secrets).filter(({ text }) => isIn(endpoint, text, from, to))
  // Most hosts hold none, and it takes longer to read a URL than to look.
  const hostname = held.length === 0 ? undefined : URL.parse(endpoint)?.hostname
  if (hostname === undefined) return
  for (const { name, text } of held) {
    if (hostname.includes(text)) continue
    const lower = text.toLowerCase()
    redactor.alsoHide(name, hostname.includes(lower) ? lower : hostname)
  }
}

/** Whether the text stands in the endpoint so that a part of it is between these places. */
function isIn(endpoint: string, text: string, from: number, to: number): boolean {
  const at = endpoint.indexOf(text, Math.max(0, from - text.length + 1))
  return at >= 0 && at < to
}
