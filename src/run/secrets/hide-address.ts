import type { JsonObject } from "../../base/json-value.ts"
import type { Redactor } from "./redact.ts"
import { secretTexts } from "../../ports/secret-texts.ts"
import { withoutTrailing } from "../../base/without-trailing.ts"

/**
 * A secret in an endpoint is written otherwise once the URL is read: its host in lower case, in punycode, or as an address in its usual
 * spelling, its path without dots. Errors show it so: host, host with port, or all of it without the query. So these forms have
 * to be hidden, too.
 */
export function hideAddress(redactor: Redactor, secrets: JsonObject, endpoint: string): void {
  const held = secretTexts(secrets).filter(({ text }) => endpoint.includes(text))
  // Most endpoints hold none, and it takes longer to read a URL than to look.
  const url = held.length === 0 ? null : URL.parse(endpoint)
  if (url === null) return
  const [from, to] = authorityOf(endpoint)
  const hostname = withoutTrailing(url.hostname, ".")
  const port = url.port === "" ? "" : `:${url.port}`
  for (const { name, text } of held) {
    if (hostname.includes(text) || !isIn(endpoint, text, from, to)) continue
    const lower = text.toLowerCase()
    if (hostname.includes(lower)) redactor.alsoHide(name, lower)
    else {
      // An IPv6 address is shown with and without its brackets.
      redactor.alsoHide(name, hostname.replace(/^\[|\]$/g, ""))
      redactor.alsoHide(name, `${hostname}${port}`)
      redactor.alsoHide(name, `${hostname}${port}${withoutTrailing(url.pathname, "/")}`)
    }
  }
}

/** Where the authority is in an endpoint: anywhere, if it has characters that a URL loses as it is read. */
function authorityOf(endpoint: string): readonly [number, number] {
  const [, scheme, authority = ""] = /^([a-z][a-z0-9+.-]*:[/\\]*)([^/\\?#]*)/i.exec(endpoint) ?? []
  const whole = scheme === undefined || /[\t\n\r]/.test(endpoint)
  return whole ? [0, endpoint.length] : [scheme.length, scheme.length + authority.length]
}

/** Whether the text stands in the endpoint so that a part of it is between these places. */
function isIn(endpoint: string, text: string, from: number, to: number): boolean {
  const at = endpoint.indexOf(text, Math.max(0, from - text.length + 1))
  return at >= 0 && at < to
}
