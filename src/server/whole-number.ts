/** The number that the text is, digits alone; null for other texts. One that is too large to be exact is the largest that is exact. */
export function wholeNumber(text: string): number | null {
  return /^\d+$/.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : null
}
