import { columnsOf } from "./columns.ts"

/** A node that waits for others. */
interface Waiting {
  readonly id: string
  readonly depends_on: readonly string[]
  readonly height: number
}

export interface Layers {
  readonly places: ReadonlyMap<string, { readonly column: number; readonly top: number }>
  /** The height at which an edge, by `from to`, passes each column between its ends. */
  readonly passes: ReadonlyMap<string, readonly number[]>
  readonly columns: number
  readonly height: number
}

/** A node in its column, or the place where a long edge passes the column. */
interface Cell {
  readonly height: number
  /** How strongly its neighbours pull at it: long edges should be straight. */
  weight: number
  readonly isNode: boolean
  /** On the way to the last step, which is a straight line. */
  isMain: boolean
  readonly before: Cell[]
  readonly after: Cell[]
  /** Its place in the column, from 0 to 1. */
  order: number
  /** The position of its middle. */
  y: number
}

/** With more long edges than this, they are drawn across the columns as they come. */
const maxPasses = 2_000
const passHeight = 8
const nodeWeight = 1
const passWeight = 4
/** Everything else gives way to the main path. */
const mainWeight = 1_000_000

/**
 * Places the nodes in columns, each after what it waits for. Within the columns they are ordered so that few edges cross,
 * and stand near the middle of those that they are connected with. Nodes come in an order in which they can run.
 */
export function layeredLayout(nodes: readonly Waiting[], gap: number): Layers {
  const columnOf = pulledRight(nodes, columnsOf(nodes))
  const columns: Cell[][] = []
  const add = (column: number, height: number, weight: number): Cell => {
    const isNode = weight === nodeWeight
    const cell: Cell = { height, weight, isNode, isMain: false, before: [], after: [], order: 0, y: 0 }
    ;(columns[column] ??= []).push(cell)
    return cell
  }
  const link = (from: Cell, to: Cell): void => {
    from.after.push(to)
    to.before.push(from)
  }
  const cells = new Map<string, Cell>()
  const passes = new Map<string, Cell[]>()
  let passCount = 0
  for (const { depends_on, id } of nodes) {
    for (const from of depends_on) passCount += (columnOf.get(id) ?? 0) - (columnOf.get(from) ?? 0) - 1
  }
  for (const { id, depends_on, height } of nodes) {
    const column = columnOf.get(id) ?? 0
    const cell = add(column, height, nodeWeight)
    cells.set(id, cell)
    for (const name of depends_on) {
      const from = cells.get(name)
      if (from === undefined) continue
      let last = from
      const between: Cell[] = []
      for (let at = (columnOf.get(name) ?? 0) + 1; at < column && passCount <= maxPasses; at++) {
        const pass = add(at, passHeight, passWeight)
        link(last, pass)
        between.push(pass)
        last = pass
      }
      link(last, cell)
      passes.set(`${name} ${id}`, between)
    }
  }
  const filled = columns.filter((column) => column !== undefined)
  const ordered = fewestCrossings(filled)
  markMain(ordered)
  settle(ordered, gap)
  const all = ordered.flat()
  const top = Math.min(...all.map(({ y, height }) => y - height / 2))
  const bottom = Math.max(...all.map(({ y, height }) => y + height / 2))
  return {
    places: new Map(
      nodes.map(({ id, height }) => {
        return [id, { column: columnOf.get(id) ?? 0, top: (cells.get(id)?.y ?? 0) - height / 2 - top }]
      }),
    ),
    passes: new Map([...passes].map(([edge, between]) => [edge, between.map(({ y }) => y - top)])),
    columns: filled.length,
    height: nodes.length === 0 ? 0 : bottom - top,
  }
}

/** A node with more followers than predecessors stands beside the first of them: its edges are shorter then. */
function pulledRight(nodes: readonly Waiting[], columns: Map<string, number>): Map<string, number> {
  const first = new Map<string, number>()
  const followers = new Map<string, number>()
  for (const { id, depends_on } of nodes.toReversed()) {
    const next = first.get(id)
    if (next !== undefined && (followers.get(id) ?? 0) > depends_on.length) columns.set(id, next - 1)
    const column = columns.get(id) ?? 0
    for (const from of depends_on) {
      first.set(from, Math.min(first.get(from) ?? Infinity, column))
      followers.set(from, (followers.get(from) ?? 0) + 1)
    }
  }
  return columns
}

/** The columns in the order with the fewest crossings that a few sweeps to and fro have found. */
function fewestCrossings(columns: readonly Cell[][]): Cell[][] {
  const number = (column: readonly Cell[]): void => {
    for (const [at, cell] of column.entries()) cell.order = (at + 0.5) / column.length
  }
  for (const column of columns) number(column)
  let best = columns.map((column) => [...column])
  let fewest = crossings(columns)
  for (let sweep = 0; sweep < 12 && fewest > 0; sweep++) {
    const side = sweep % 2 === 0 ? "before" : "after"
    for (const column of side === "before" ? columns : columns.toReversed()) {
      const wishes = new Map(column.map((cell) => [cell, mean(cell[side], ({ order }) => order) ?? cell.order]))
      column.sort((one, other) => (wishes.get(one) ?? 0) - (wishes.get(other) ?? 0))
      number(column)
    }
    const found = crossings(columns)
    if (found >= fewest) continue
    fewest = found
    best = columns.map((column) => [...column])
  }
  for (const column of best) number(column)
  return best
}

function crossings(columns: readonly Cell[][]): number {
  let count = 0
  for (const column of columns) {
    /** Where the edges of the cells above end, sorted. */
    const ends: number[] = []
    for (const { after } of column) {
      const own = after.map(({ order }) => order)
      for (const end of own) count += ends.length - placeIn(ends, end)
      for (const end of own) ends.splice(placeIn(ends, end), 0, end)
    }
  }
  return count
}

/** After all entries that are not larger. */
function placeIn(sorted: readonly number[], value: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) <= value) low = middle + 1
    else high = middle
  }
  return low
}

/** The way back from the last step, until several steps lead on alike: an even number of them has none in the middle. */
function markMain(columns: readonly Cell[][]): void {
  let found = columns.at(-1)?.filter(({ isNode }) => isNode) ?? []
  while (found.length % 2 === 1) {
    const cell = found.toSorted((one, other) => one.order - other.order)[(found.length - 1) / 2]
    if (cell === undefined) return
    cell.isMain = true
    cell.weight = mainWeight
    found = cell.before.filter(({ isNode }) => isNode)
  }
}

/** Moves the cells of each column up and down, towards what they are connected with. */
function settle(columns: readonly Cell[][], gap: number): void {
  for (const column of columns) spread(column, gap, () => 0)
  for (const side of ["before", "after", "before", "after", "both", "both"] as const) {
    for (const column of side === "after" ? columns.toReversed() : columns) {
      spread(column, gap, (cell) => {
        if (cell.isMain) return 0
        const others = side === "both" ? [...cell.before, ...cell.after] : cell[side]
        return mean(others, ({ y }) => y) ?? cell.y
      })
    }
  }
}

/** Puts each cell as near as possible to where it should be, in their order and with the gap between them (isotonic regression). */
function spread(column: readonly Cell[], gap: number, wish: (cell: Cell) => number): void {
  const blocks: { sum: number; weight: number; cells: number }[] = []
  const offsets: number[] = []
  let end = 0
  for (const cell of column) {
    const offset = end + cell.height / 2
    end += cell.height + gap
    offsets.push(offset)
    let block = { sum: (wish(cell) - offset) * cell.weight, weight: cell.weight, cells: 1 }
    for (let last = blocks.at(-1); last !== undefined; last = blocks.at(-1)) {
      if (last.sum / last.weight <= block.sum / block.weight) break
      blocks.pop()
      block = { sum: last.sum + block.sum, weight: last.weight + block.weight, cells: last.cells + block.cells }
    }
    blocks.push(block)
  }
  let at = 0
  for (const { sum, weight, cells } of blocks) {
    for (const last = at + cells; at < last; at++) {
      const cell = column[at]
      if (cell !== undefined) cell.y = sum / weight + (offsets[at] ?? 0)
    }
  }
}

function mean(cells: readonly Cell[], of: (cell: Cell) => number): number | undefined {
  return cells.length === 0 ? undefined : cells.reduce((sum, cell) => sum + of(cell), 0) / cells.length
}
