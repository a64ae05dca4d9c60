import { Buffer } from "node:buffer"
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs"

/**
 * The bytes of a file; null for what is no regular file, or has more than `most` bytes. A folder from elsewhere may hold links to devices and pipes: opening
 * one of those must not wait, and reading it might never end. Throws where it cannot be opened or read.
 */
export function readRegularFile(path: string, most: number): Buffer | null {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!fstatSync(file).isFile()) return null
    const bytes = Buffer.allocUnsafe(Math.min(fstatSync(file).size, most) + 1)
    let length = 0
    for (let read = 1; read > 0 && length < bytes.length; length += read) {
      read = readSync(file, bytes, length, bytes.length - length, null)
    }
    return length === bytes.length ? null : bytes.subarray(0, length)
  } finally {
    closeSync(file)
  }
}
