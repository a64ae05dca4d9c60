export interface Difference<T> {
  readonly change: "same" | "removed" | "added"
  readonly item: T
}

/** Pairs that are compared at most: longer lists are compared from both ends only. */
const maxPairs = 1_000_000

/** How one list becomes another: a longest common subsequence, with what is gone before what is new. */
export function diffList<T>(before: readonly T[], after: readonly T[]): Difference<T>[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  ) {
    end++
  }
  const same = (items: readonly T[]): Difference<T>[] => items.map((item) => ({ change: "same", item }))
  return [
    ...same(before.slice(0, start)),
    ...diffMiddle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...same(before.slice(before.length - end)),
  ]
}

function diffMiddle<T>(before: readonly T[], after: readonly T[]): Difference<T>[] {
  const removed = (item: T): Difference<T> => ({ change: "removed", item })
  const added = (item: T): Difference<T> => ({ change: "added", item })
  if (before.length * after.length > maxPairs) return [...before.map(removed), ...after.map(added)]
  const width = after.length + 1
  const lengths = new Uint32Array((before.length + 1) * width)
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        before[i] === after[j]
          ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0)
    }
  }
  const found: Difference<T>[] = []
  let i = 0
  let j = 0
  while (i < before.length || j < after.length) {
    const one = before[i]
    const other = after[j]
    if (i < before.length && j < after.length && one === other) {
      found.push({ change: "same", item: one as T })
      i++
      j++
    } else if (i < before.length && (lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0)) {
      found.push(removed(one as T))
      i++
    } else if (j < after.length) {
      found.push(added(other as T))
      j++
    } else {
      found.push(removed(one as T))
      i++
    }
  }
  return found
}
