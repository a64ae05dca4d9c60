import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import about from "../../../package.json" with { type: "json" }

/** The file that `npm run package` and `npm pack` write. */
export const archiveName = `${about.name}-${about.version}.tgz`

/**
 * The command that writes the archive of this very installation to a folder: Wireworks is not on npm, where the name may be a stranger's.
 * A checkout builds and packs it, an installed package is packed as it is.
 */
export function packCommand(folder: string, from = import.meta.dirname): string {
  const home = homeOf(from)
  return existsSync(join(home, "scripts", "package.mjs"))
    ? `npm --prefix ${quoted(home)} run package -- ${quoted(folder)}`
    : `npm pack ${quoted(home)} --pack-destination ${quoted(folder)}`
}

/** The folder with our package.json: that of the checkout or of the installed package. */
function homeOf(folder: string): string {
  const manifest = join(folder, "package.json")
  if (existsSync(manifest)) {
    const { name } = JSON.parse(readFileSync(manifest, "utf8")) as { readonly name?: string }
    if (name === about.name) return folder
  }
  const above = dirname(folder)
  if (above === folder) throw new Error("The command stands in no package")
  return homeOf(above)
}

/** For a shell of any system. */
function quoted(path: string): string {
  return /^[\w./:\\-]+$/.test(path) ? path : `"${path.replaceAll(/["$`\\]/g, String.raw`\$&`)}"`
}
