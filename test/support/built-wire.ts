import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { build, sourceStamp } from "../../scripts/build.mjs"

const root = dirname(dirname(import.meta.dirname))

/** The bundle of the sources as they are, made once for all files of tests: what is tested is what ships. */
async function built(): Promise<string> {
  const cache = join(root, ".cache")
  const folder = join(cache, `bundle-${sourceStamp().slice(0, 16)}`)
  if (existsSync(folder)) return folder
  mkdirSync(cache, { recursive: true })
  for (const old of readdirSync(cache)) {
    const path = join(cache, old)
    const isOld = old.startsWith("bundle-") && Date.now() - statSync(path).mtimeMs > 3_600_000
    if (isOld) rmSync(path, { recursive: true, force: true })
  }
  const fresh = mkdtempSync(join(cache, "bundle-"))
  await build(fresh)
  try {
    renameSync(fresh, folder)
  } catch {
    // Another file of tests was faster.
    rmSync(fresh, { recursive: true })
  }
  return folder
}

/** The command, to be started with Node. */
export const builtWire = join(await built(), "wire.js")
