/** Bytes of a text in UTF-8, counted without anything of Node or of a browser. */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code > 0x7ff) bytes += 2
    else if (code > 0x7f) bytes++
    // Two halves of a character have four bytes together.
    if (code >= 0xd800 && code <= 0xdbff) bytes--
    else if (code >= 0xdc00 && code <= 0xdfff) bytes--
  }
  return bytes
}
