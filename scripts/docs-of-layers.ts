import { folders, rooms } from "./layers.ts"
import { markdownTable } from "./markdown-table.ts"

type Floors = Readonly<Record<string, { readonly floor: number }>>

/** From the highest floor to the lowest, with the folders of each. */
function floorsOf(all: Floors): [floor: number, names: string[]][] {
  const byFloor = Map.groupBy(Object.keys(all), (name) => all[name]?.floor ?? 0)
  return [...byFloor].toSorted(([a], [b]) => b - a)
}

/** The floors as a drawing in text: each imports only from those below it. */
export function picture(): string {
  const lines = floorsOf(folders).map(([floor, names]) => `${String(floor).padStart(2)}  ${names.join("   ")}`)
  const width = Math.max(...lines.map((line) => line.length))
  const rule = (left: string, right: string): string => `${left}${"─".repeat(width + 2)}${right}`
  const rows = lines.map((line) => `│ ${line.padEnd(width)} │`).join(`\n${rule("├", "┤")}\n`)
  return ["```text", rule("┌", "┐"), rows, rule("└", "┘"), "```"].join("\n")
}

export function folderTable(): string {
  const rows = floorsOf(folders).flatMap(([floor, names]) =>
    names.flatMap((name) => [
      [`\`src/${name}\``, String(floor), folders[name]?.about ?? ""],
      ...floorsOf(rooms[name] ?? {}).flatMap(([inside, inner]) =>
        inner.map((one) => [`\`src/${name}/${one}\``, `${floor}, inside ${inside}`, rooms[name]?.[one]?.about ?? ""]),
      ),
    ]),
  )
  return markdownTable(["folder", "floor", "what is in it"], rows)
}
