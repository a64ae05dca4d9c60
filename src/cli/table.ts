import { cutText } from "../base/cut-text.ts"
import { cellWidth } from "./cell-width.ts"
import { visibleText } from "../base/visible-text.ts"

/** Rows in columns; the last column takes what is left of the width. Texts are made fit for a terminal. */
export function table(rows: readonly (readonly string[])[], width: number): string[] {
  const shown = rows.map((row) => row.map((cell) => visibleText(cell.replaceAll(/\s+/g, " ").trim())))
  const columns = Math.max(0, ...shown.map((row) => row.length))
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.min(widestCell, Math.max(0, ...shown.map((row) => cellWidth(row[column] ?? "")))),
  )
  const last = columns - 1
  const before = widths.slice(0, last).reduce((sum, one) => sum + one + gap, 0)
  return shown.map((row) => {
    const cells = row.map((cell, column) => {
      const most = column === last ? Math.max(20, width - before) : (widths[column] ?? 0)
      const cut = cutText(cell, most)
      return column === last ? cut : cut + " ".repeat(Math.max(0, most - cellWidth(cut)) + gap)
    })
    return cells.join("").trimEnd()
  })
}

const gap = 2
const widestCell = 48
