import { settingGroups, settingTable } from "../src/cli/compose/settings.ts"
import { markdownTable } from "./markdown-table.ts"

// Tables of settings, from the table that the service reads them by.

interface Row {
  readonly env: string
  readonly description: string
  readonly default: string | undefined
  readonly first?: boolean
  readonly see?: string
  parse(text: string): object
}

/** The eight that people set first, for the README. */
export function firstSettings(): string {
  const rows = Object.values<Row>(settingTable).filter(({ first }) => first === true)
  return markdownTable(
    ["variable", "default", ""],
    rows.map((row) => [`\`WIRE_${row.env}\``, defaultOf(row), aboutOf(row, "docs/")]),
  )
}

export function allSettings(): string {
  return Object.entries<Readonly<Record<string, Row>>>(settingGroups)
    .map(([title, group]) => `## ${title}\n\n${tableOf(Object.values(group))}`)
    .join("\n\n")
}

function tableOf(rows: readonly Row[]): string {
  return markdownTable(
    ["variable", "default", "", "it must be"],
    rows.map((row) => [`\`WIRE_${row.env}\``, defaultOf(row), aboutOf(row, ""), valuesOf(row)]),
  )
}

const defaultOf = ({ default: preset }: Row): string => (preset === undefined || preset === "" ? "" : `\`${preset}\``)

function aboutOf({ description, see }: Row, folder: string): string {
  return see === undefined ? description : `${description} ([more](${folder}${see}))`
}

/** What a wrong value is answered with. */
function valuesOf(row: Row): string {
  const parsed = row.parse("\u0000")
  return "mustBe" in parsed ? String(parsed.mustBe) : ""
}
