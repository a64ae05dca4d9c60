import { hasDotSegment } from "../base/has-dot-segment.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonValue } from "../base/json-value.ts"

export interface ImportedServer {
  readonly endpoint: string
  /** What the author has to look at. */
  readonly comment: string | null
}

const placeholder = "https://api.example.com"

/** The first server of a list, as an address that is written out. */
export function serverOf(servers: JsonValue | undefined): ImportedServer {
  const [first] = Array.isArray(servers) ? servers : []
  const url = isJsonObject(first) && typeof first["url"] === "string" ? first["url"].trim() : ""
  if (url === "") return { endpoint: placeholder, comment: "The document names no server: put its address here." }
  const variables = isJsonObject(first) && isJsonObject(first["variables"]) ? first["variables"] : {}
  const filled = url.replaceAll(/\{([^{}]*)\}/g, (whole, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined
    const value = isJsonObject(variable) ? variable["default"] : undefined
    return typeof value === "string" ? value : whole.slice(1, -1)
  })
  const isTemplate = filled !== url
  const isRelative = filled.startsWith("/") && !filled.startsWith("//")
  const parsed = URL.parse(isRelative ? `${placeholder}${filled}` : filled)
  const isPlain =
    parsed !== null &&
    /^https?:$/.test(parsed.protocol) &&
    parsed.username === "" &&
    parsed.password === "" &&
    parsed.search === "" &&
    parsed.hash === "" &&
    !hasDotSegment(filled)
  if (!isPlain)
    return { endpoint: placeholder, comment: "The document names no address that can be called: put one here." }
  const endpoint = parsed.href.endsWith("/") ? parsed.href.slice(0, -1) : parsed.href
  if (isRelative) return { endpoint, comment: "The document gives a path without a host: put the host here." }
  return {
    endpoint,
    comment: isTemplate ? "The document has variables in this address: these are their defaults." : null,
  }
}
