/**
 * How many single changes (a letter put in, taken out, replaced, or swapped with its neighbour) turn one text into the
 * other; anything above `limit` is `limit + 1`. The work grows with the power of the limit, which is small.
 */
export function editDistance(from: string, to: string, limit: number): number {
  let same = 0
  while (same < from.length && from[same] === to[same]) same++
  const a = from.slice(same)
  const b = to.slice(same)
  if (a === "" || b === "") return Math.min(a.length + b.length, limit + 1)
  if (limit <= 0 || Math.abs(a.length - b.length) > limit) return limit + 1
  let best = limit
  const change = (inA: number, inB: number): void => {
    best = Math.min(best, editDistance(a.slice(inA), b.slice(inB), best - 1))
  }
  change(1, 1)
  change(1, 0)
  change(0, 1)
  if (a[0] === b[1] && a[1] === b[0]) change(2, 2)
  return best + 1
}
