/** The limits of W3C Baggage: what everyone on the way has to pass on. */
const maxMembers = 180
const maxBytes = 8192

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const octets = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/

/** A `baggage` header as it is passed on: its valid members, as many as the limits allow; null where none is left. */
export function readBaggage(header: string | readonly string[] | undefined): string | null {
  if (header === undefined) return null
  const kept: string[] = []
  let bytes = 0
  for (const written of (typeof header === "string" ? header : header.join(",")).split(",")) {
    const member = written.trim()
    // All of it is ASCII: a character is a byte. The comma counts, too.
    const size = member.length + (kept.length === 0 ? 0 : 1)
    if (!isMember(member) || bytes + size > maxBytes) continue
    kept.push(member)
    bytes += size
    if (kept.length === maxMembers) break
  }
  return kept.length === 0 ? null : kept.join(",")
}

/** `key=value`, and properties after semicolons: `;key` or `;key=value`. */
function isMember(text: string): boolean {
  const [pair = "", ...properties] = text.split(";")
  return isPair(pair) && properties.every((property) => token.test(property.trim()) || isPair(property))
}

function isPair(text: string): boolean {
  const at = text.indexOf("=")
  return at > 0 && token.test(text.slice(0, at).trim()) && octets.test(text.slice(at + 1).trim())
}
