/** A name that HTTP allows. */
export function isHeaderName(text: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(text)
}

/**
 * Headers that frame a message, or are about one connection: a value in them could smuggle in a second request, or change how the service and the
 * server talk.
 */
export const connectionHeaders: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "upgrade",
  "expect",
])

/** A value that HTTP allows: it cannot end its line, and what came after would be another header. */
export function isHeaderValue(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text)
}
