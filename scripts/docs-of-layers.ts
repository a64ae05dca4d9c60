import { folders } from "./layers.ts"
import { markdownTable } from "./markdown-table.ts"

/** From the highest layer to the lowest, with the folders of each. */
function floors(): [layer: number, names: string[]][] {
  const byLayer = Map.groupBy(Object.keys(folders), (name) => folders[name]?.layer ?? 0)
  return [...byLayer].toSorted(([a], [b]) => b - a)
}

/** The floors as a drawing in text: each imports only from those below it. */
export function picture(): string {
  const lines = floors().map(([layer, names]) => `${String(layer).padEnd(5)} ${names.join("   ")}`)
  const width = Math.max(...lines.map((line) => line.length))
  const rule = (left: string, right: string): string => `${left}${"─".repeat(width + 2)}${right}`
  const rows = lines.map((line) => `│ ${line.padEnd(width)} │`).join(`\n${rule("├", "┤")}\n`)
  return ["```text", rule("┌", "┐"), rows, rule("└", "┘"), "```"].join("\n")
}

export function folderTable(): string {
  const rows = floors().flatMap(([layer, names]) =>
    names.map((name) => [`\`src/${name}\``, String(layer), folders[name]?.about ?? ""]),
  )
  return markdownTable(["folder", "layer", "what is in it"], rows)
}
