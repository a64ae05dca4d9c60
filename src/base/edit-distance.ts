/**
 * How many single changes (a letter put in, taken out, replaced, or swapped with its neighbour) turn one text into the
 * other; anything above `limit` is `limit + 1`, which is found out early.
 */
export function editDistance(from: string, to: string, limit: number): number {
  const beyond = limit + 1
  let start = 0
  let fromEnd = from.length
  let toEnd = to.length
  while (start < fromEnd && start < toEnd && from.charCodeAt(start) === to.charCodeAt(start)) start++
  while (fromEnd > start && toEnd > start && from.charCodeAt(fromEnd - 1) === to.charCodeAt(toEnd - 1)) {
    fromEnd--
    toEnd--
  }
  const rows = fromEnd - start
  const columns = toEnd - start
  if (Math.abs(rows - columns) > limit) return beyond
  if (rows === 0 || columns === 0) return Math.max(rows, columns)

  // Three rows of the table: the one being filled, the one above, and the one above that (for swaps).
  let older: number[] = []
  let above: number[] = []
  for (let column = 0; column <= columns; column++) above.push(column)
  let leastAbove = 0
  for (let row = 1; row <= rows; row++) {
    const current = [row]
    const letter = from.charCodeAt(start + row - 1)
    // Cells further than the limit from the diagonal are beyond it anyway.
    const first = Math.max(1, row - limit)
    const last = Math.min(columns, row + limit)
    if (first > 1) current[first - 1] = beyond
    let least = beyond
    for (let column = first; column <= last; column++) {
      const other = to.charCodeAt(start + column - 1)
      let cost = (above[column - 1] ?? beyond) + (letter === other ? 0 : 1)
      cost = Math.min(cost, (above[column] ?? beyond) + 1, (current[column - 1] ?? beyond) + 1)
      const swapped =
        row > 1 &&
        column > 1 &&
        letter === to.charCodeAt(start + column - 2) &&
        other === from.charCodeAt(start + row - 2)
      if (swapped) cost = Math.min(cost, (older[column - 2] ?? beyond) + 1)
      current[column] = cost
      if (cost < least) least = cost
    }
    // A swap reaches two rows back, so one row beyond the limit does not end it yet.
    if (least > limit && leastAbove > limit) return beyond
    older = above
    above = current
    leastAbove = Math.min(least, row)
  }
  return Math.min(above[columns] ?? beyond, beyond)
}
