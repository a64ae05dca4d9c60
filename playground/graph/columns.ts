/** A node that waits for others. */
interface Waiting {
  readonly id: string
  readonly depends_on: readonly string[]
}

/** The column of each node: one after the last node that it waits for. Nodes come in an order in which they can run. */
export function columnsOf(nodes: readonly Waiting[]): Map<string, number> {
  const columns = new Map<string, number>()
  for (const { id, depends_on } of nodes) {
    let column = 0
    for (const from of depends_on) column = Math.max(column, (columns.get(from) ?? -1) + 1)
    columns.set(id, column)
  }
  return columns
}
