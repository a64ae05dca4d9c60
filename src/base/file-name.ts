const mostLength = 255

/** A name that is safe in a folder and on a screen: without path separators, control characters, and marks that turn the direction of writing. */
export function safeFileName(given: string | null | undefined): string {
  const name = (given ?? "")
    .toWellFormed()
    .replaceAll(/[\p{Cc}\u2028\u2029\u200E\u200F\u202A-\u202E\u2066-\u2069/\\]/gu, "")
    .trim()
  const cut = Array.from(name).slice(0, mostLength).join("")
  return /^\.*$/.test(cut) ? "file" : cut
}
