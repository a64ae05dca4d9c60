const quote = 0x22
const backslash = 0x5c

/**
 * Whether arrays and objects of a JSON text stand in each other deeper than allowed. Looked at before it is parsed: much of
 * what handles a value (writing it as JSON, for one) goes down by recursion.
 */
export function isDeeperThan(most: number, text: Uint8Array): boolean {
  if (text.length <= most) return false
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case 0x5b:
      case 0x7b:
        if (++depth > most) return true
        break
      case 0x5d:
      case 0x7d:
        depth--
        break
      case quote:
        at = endOfString(text, at + 1)
        break
      default:
        break
    }
  }
  return false
}

/** Where the closing quote stands. */
function endOfString(text: Uint8Array, from: number): number {
  for (let end = text.indexOf(quote, from); end >= 0; end = text.indexOf(quote, end + 1)) {
    let escapes = 0
    while (text[end - 1 - escapes] === backslash && end - 1 - escapes >= from) escapes++
    if (escapes % 2 === 0) return end
  }
  return text.length
}
