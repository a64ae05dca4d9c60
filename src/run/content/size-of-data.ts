/** A data URL as its type and size; undefined for another address. */
export function sizeOfData(url: string): string | undefined {
  const comma = url.indexOf(",")
  const [, mediaType] = /^data:([\w.+/-]*)(?:;[^,]*)?$/.exec(url.slice(0, comma)) ?? []
  if (comma < 0 || mediaType === undefined) return undefined
  const padding = url.endsWith("==") ? 2 : url.endsWith("=") ? 1 : 0
  return `[file: ${mediaType}, ${Math.floor(((url.length - comma - 1 - padding) * 3) / 4)} bytes]`
}
