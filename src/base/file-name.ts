const mostLength = 255

/**
 * A name that is safe in a folder and on a screen: without path separators, control characters, marks that turn the direction of writing, and what cannot be seen, but
 * for the two joiners that scripts and pictures are written with.
 */
export function safeFileName(given: string | null | undefined): string {
  const name = (given ?? "")
    .toWellFormed()
    .replaceAll(/[\p{Cc}\u2028\u2029/\\]|(?![\u200C\u200D])\p{Cf}/gu, "")
    .trim()
  const cut = Array.from(name).slice(0, mostLength).join("")
  return /^\.*$/.test(cut) ? "file" : cut
}
