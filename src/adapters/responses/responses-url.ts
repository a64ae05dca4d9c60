import { withoutTrailing } from "../../base/without-trailing.ts"

/** `{endpoint}/responses`, before a query string where there is one. Egress refuses text that is not a URL. */
export function responsesUrl(endpoint: string): string {
  const url = URL.parse(endpoint)
  if (url === null) return endpoint
  const path = withoutTrailing(url.pathname, "/")
  url.pathname = path.endsWith("/responses") ? path : `${path}/responses`
  url.hash = ""
  return url.href
}
