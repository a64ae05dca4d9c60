import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs"
import { dirname, join } from "node:path"

const cache = join(dirname(dirname(import.meta.dirname)), ".cache")

/** A folder that is made once for all files of tests, and again when the stamp is another. */
export async function madeOnce(name: string, stamp: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(cache, `${name}-${stamp.slice(0, 16)}`)
  if (existsSync(folder)) return folder
  mkdirSync(cache, { recursive: true })
  for (const old of readdirSync(cache)) {
    const path = join(cache, old)
    const isOld = old.startsWith(`${name}-`) && Date.now() - statSync(path).mtimeMs > 3_600_000
    if (isOld) rmSync(path, { recursive: true, force: true })
  }
  const fresh = mkdtempSync(join(cache, `${name}-`))
  await make(fresh)
  // Some tests start what is in it as another user.
  chmodSync(fresh, 0o755)
  try {
    renameSync(fresh, folder)
  } catch {
    // Another file of tests was faster.
    rmSync(fresh, { recursive: true })
  }
  return folder
}
