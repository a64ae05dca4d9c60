import { accessSync, constants, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A new folder in memory where the machine has such a file system, else on its disk: for files whose durability is not tested. */
export function memoryFolder(prefix: string): string {
  return mkdtempSync(join(isWritable("/dev/shm") ? "/dev/shm" : tmpdir(), prefix))
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}
