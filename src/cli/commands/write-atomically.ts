import { accessSync, chmodSync, chownSync, constants, realpathSync, renameSync, rmSync, statSync } from "node:fs"
import { whyUnwritable } from "./file-errors.ts"
import type { FileVersion } from "./read-source.ts"
import { writeScratch } from "./write-scratch.ts"

/**
 * Replaces a file's content in one step, so that a crash leaves the old or the new text, never half of one. Links are
 * followed, mode and owner kept. Yields why it did not write: a clause, or null. A file that is not the version that was
 * read is left alone: someone else is writing it.
 */
export function writeAtomically(path: string, text: string, version: FileVersion): string | null {
  if (!version.regular) return "is not a regular file"
  let scratch: string | null = null
  try {
    const target = realpathSync(path)
    accessSync(target, constants.W_OK)
    const { mode, uid, gid } = statSync(target)
    scratch = writeScratch(target, text, mode)
    // Past the umask, and with the owner of the old file where that is allowed (root may).
    chmodSync(scratch, mode)
    if (uid !== process.getuid?.() || gid !== process.getgid?.()) chownSync(scratch, uid, gid)
    if (!isStill(target, version)) return "was changed by someone else meanwhile, and is left alone"
    renameSync(scratch, target)
    scratch = null
    return null
  } catch (error) {
    return whyUnwritable(error)
  } finally {
    if (scratch !== null) rmSync(scratch, { force: true })
  }
}

function isStill(path: string, version: FileVersion): boolean {
  const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true })
  return dev === version.device && ino === version.inode && size === version.size && mtimeNs === version.changed
}
