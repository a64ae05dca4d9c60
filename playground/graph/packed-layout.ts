import { columnsOf } from "./columns.ts"

/** A node that waits for others. */
interface Waiting {
  readonly id: string
  readonly depends_on: readonly string[]
}

/** Where a node of a packed graph stands: its band, and the column and row within that. */
export interface Cell {
  readonly band: number
  readonly column: number
  readonly row: number
}

export interface Packing {
  readonly cells: ReadonlyMap<string, Cell>
  /** How many rows each band has. */
  readonly rows: readonly number[]
  readonly columns: number
}

/**
 * Fills bands of at most so many columns, one below the other, as text fills lines. The nodes that may run at the same time stand
 * together, in as many columns as there is room for; what waits for them follows to the right, or in the next band.
 */
export function pack(nodes: readonly Waiting[], maxColumns: number, defaultRows: number): Packing {
  const layers: Waiting[][] = []
  const layerOf = columnsOf(nodes)
  for (const node of nodes) (layers[layerOf.get(node.id) ?? 0] ??= []).push(node)
  const cells = new Map<string, Cell>()
  const rows: number[] = []
  let [band, column, columns] = [0, 0, 0]
  for (const layer of layers) {
    const wanted = Math.min(maxColumns, Math.ceil(layer.length / defaultRows))
    if (column > 0 && column + wanted > maxColumns) {
      band++
      column = 0
    }
    const height = Math.ceil(layer.length / wanted)
    for (const [at, { id }] of layer.entries()) {
      cells.set(id, { band, column: column + Math.floor(at / height), row: at % height })
    }
    rows[band] = Math.max(rows[band] ?? 0, height)
    column += wanted
    columns = Math.max(columns, column)
  }
  return { cells, rows, columns }
}
