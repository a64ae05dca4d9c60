import { editDistance } from "./edit-distance.ts"

/** Names longer than this are not typing errors of one another. */
const longest = 100

/**
 * The candidate that `name` is most likely a slip for; undefined when none is near. Case, `_` and `-` count for nothing
 * (`maxTokens` is `max_tokens`), and about every third letter may be wrong. Of equally near ones the first wins.
 */
export function didYouMean(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > longest) return undefined
  const wanted = plain(name)
  let limit = Math.min(3, Math.floor((wanted.length + 1) / 3))
  let best: string | undefined
  for (const candidate of candidates) {
    if (candidate === name || Math.abs(candidate.length - name.length) > longest) continue
    const distance = editDistance(wanted, plain(candidate), limit)
    if (distance > limit) continue
    best = candidate
    if (distance === 0) break
    limit = distance - 1
  }
  return best
}

function plain(name: string): string {
  const lower = name.toLowerCase().replace(/[-_ ]/g, "")
  return lower === "" ? name : lower
}
