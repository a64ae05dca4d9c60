import { withoutTrailing } from "../../base/without-trailing.ts"

/** An address under the endpoint, before a query string where there is one. What is not a URL is left for egress to refuse. */
export function apiUrl(endpoint: string, path: string, query: Readonly<Record<string, string>> = {}): string {
  const url = URL.parse(endpoint)
  if (url === null) return endpoint
  const base = withoutTrailing(url.pathname, "/")
  url.pathname = base.endsWith(path) ? base : `${base}${path}`
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  url.hash = ""
  return url.href
}
