/** Characters. What has no line break for so long gets one: it would fill the memory. */
const longestLine = 1_048_576

/** The lines of a text that comes in pieces, as many at a time as have come. Each ends with a line break. */
export async function* wholeLines(pieces: AsyncIterable<unknown>): AsyncGenerator<string> {
  let rest = ""
  for await (const piece of pieces) {
    const text = rest + String(piece)
    const end = text.lastIndexOf("\n") + 1
    rest = text.slice(end)
    const isTooLong = rest.length > longestLine
    if (end > 0 || isTooLong) yield isTooLong ? `${text}\n` : text.slice(0, end)
    if (isTooLong) rest = ""
  }
  if (rest !== "") yield `${rest}\n`
}
