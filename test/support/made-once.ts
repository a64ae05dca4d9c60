import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs"
import { dirname, join } from "node:path"

const cache = join(dirname(dirname(import.meta.dirname)), ".cache")

let last: Promise<unknown> = Promise.resolve()

/**
 * A folder that is made once for all files of tests, and again when the stamp is another. A process makes one folder at a time: each
 * build ends esbuild's process when it is done, and another build that still uses it would fail.
 */
export function madeOnce(name: string, stamp: string, make: (folder: string) => Promise<void>): Promise<string> {
  const made = last.then(() => makeFolder(name, stamp, make))
  last = made.catch(() => undefined)
  return made
}

async function makeFolder(name: string, stamp: string, make: (folder: string) => Promise<void>): Promise<string> {
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
