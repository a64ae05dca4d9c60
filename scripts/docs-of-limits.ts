import { limitTable } from "../src/base/limits.ts"
import { settingTable } from "../src/cli/compose/settings.ts"
import { markdownTable } from "./markdown-table.ts"

/** The table of docs/security.md, from the limits and the settings of the service. */
export function limitsOfAll(): string {
  const settings = new Map(Object.values(settingTable).map((setting) => [`${setting.env}`, setting.default]))
  const rows = Object.entries(limitTable()).flatMap(([subject, limits]) => [
    [`**${subject}**`, "", "", ""],
    ...limits.map(({ what, limit, setting, over }) => {
      const preset = setting === undefined ? undefined : settings.get(setting)
      if (setting !== undefined && !settings.has(setting)) throw new Error(`There is no setting ${setting}`)
      if (limit === null && preset === undefined) throw new Error(`${what}: WIRE_${setting} has no default`)
      return [what, limit ?? `\`${preset}\``, setting === undefined ? "" : `\`WIRE_${setting}\``, over]
    }),
  ])
  return markdownTable(["what", "limit", "variable", "over it"], rows)
}
