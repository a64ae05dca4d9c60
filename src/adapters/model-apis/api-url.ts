import { withoutTrailing } from "../../base/without-trailing.ts"

/** An address without anything that has to be read to find where its path ends. */
const plainAddress = /^https?:\/\/[a-z0-9.-]+(?::\d{1,5})?(?:\/[\w-]+)*$/

/** An address under the endpoint, before a query string where there is one. Egress refuses text that is not a URL. */
export function apiUrl(endpoint: string, path: string, query?: Readonly<Record<string, string>>): string {
  if (query === undefined && plainAddress.test(endpoint)) return endpoint.endsWith(path) ? endpoint : endpoint + path
  const url = URL.parse(endpoint)
  if (url === null) return endpoint
  const base = withoutTrailing(url.pathname, "/")
  url.pathname = base.endsWith(path) ? base : `${base}${path}`
  for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value)
  url.hash = ""
  return url.href
}
