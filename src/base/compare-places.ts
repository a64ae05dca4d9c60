/** Orders lists of positions: the first that differs decides, and a list that goes on comes after one that does not. */
export function comparePlaces(a: readonly number[], b: readonly number[]): number {
  for (const [at, one] of a.entries()) {
    const difference = one - (b[at] ?? -1)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
