import { randomUUID } from "node:crypto"
import { closeSync, fsyncSync, openSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"

/**
 * Writes contents to a new file beside the target, to be renamed to it; yields its path. The name cannot be guessed and the file
 * must not exist: a link that somebody put into the folder is never written through.
 */
export function writeScratch(target: string, contents: string | Uint8Array, mode?: number): string {
  const scratch = join(dirname(target), `.${basename(target)}.${randomUUID()}.new`)
  const file = openSync(scratch, "wx", mode)
  try {
    writeFileSync(file, contents)
    fsyncSync(file)
  } catch (error) {
    rmSync(scratch, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
  return scratch
}
