import { visibleText } from "../../base/visible-text.ts"
import { cellWidth } from "./cell-width.ts"
import type { Palette } from "./terminal.ts"

/** Lines of a table whose columns are as wide as their longest cell. Columns without any content are left out. */
export function tableLines(
  heads: readonly string[],
  rows: readonly (readonly (string | null)[])[],
  palette: Palette,
): string[] {
  const cells = rows.map((row) => heads.map((_, at) => visibleText(row[at] ?? "")))
  const shown = heads.flatMap((_, at) => (cells.some((row) => row[at] !== "") ? [at] : []))
  const widths = shown.map((at) => Math.max(...[heads, ...cells].map((row) => cellWidth(row[at] ?? ""))))
  const line = (row: readonly string[]): string =>
    shown
      .map((at, column) => `${row[at] ?? ""}${" ".repeat((widths[column] ?? 0) - cellWidth(row[at] ?? ""))}`)
      .join("  ")
      .trimEnd()
  return [palette.faint(line(heads)), ...cells.map(line)]
}
