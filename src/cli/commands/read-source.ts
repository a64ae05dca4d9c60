import { Buffer } from "node:buffer"
import { closeSync, fstatSync, openSync } from "node:fs"
import { resolve } from "node:path"
import { sourceBytes } from "../../base/limits.ts"
import { findInProject, whyNotInProject } from "../../compiler/project-path.ts"
import { readRegularFile } from "../../compiler/read-regular-file.ts"
import { whyUnreadable } from "./file-errors.ts"
import { readUpTo } from "./read-file.ts"

export type SourceRead =
  | { readonly text: string; readonly problem: null; readonly version: FileVersion }
  | { readonly text: null; readonly problem: string }

/** Tells whether a file is still the one that was read. */
export interface FileVersion {
  readonly regular: boolean
  readonly device: bigint
  readonly inode: bigint
  readonly size: bigint
  readonly changed: bigint
}

/** Reads a source file. What is wrong with the file, not with its text, is the `problem`: a clause. */
export function readSource(path: string): SourceRead {
  let file: number
  try {
    file = openSync(path, "r")
  } catch (error) {
    return { text: null, problem: whyUnreadable(error) }
  }
  try {
    const stat = fstatSync(file, { bigint: true })
    const bytes = readUpTo(file, sourceBytes + 1)
    const decoded = decodeSource(bytes)
    if (decoded.text === null) return decoded
    const { dev: device, ino: inode, size, mtimeNs: changed } = stat
    return { ...decoded, version: { regular: stat.isFile(), device, inode, size, changed } }
  } catch (error) {
    return { text: null, problem: whyUnreadable(error) }
  } finally {
    closeSync(file)
  }
}

/** Reads a source file that another file of the project names: devices and pipes are not read, nor what is outside of the root. */
export function readFoundSource(path: string, root: string): ReturnType<typeof decodeSource> {
  const found = findInProject(root, resolve(path))
  if ("problem" in found) return { text: null, problem: whyNotInProject(root, found.problem) }
  try {
    const bytes = readRegularFile(found.real, sourceBytes)
    if (bytes !== null) return decodeSource(bytes)
    return { text: null, problem: `is not a regular file of at most ${sourceBytes / 1024 / 1024} MiB: it is not read` }
  } catch (error) {
    return { text: null, problem: whyUnreadable(error) }
  }
}

/** Bytes → text. A byte-order mark stays: places count from the file's first character. */
export function decodeSource(
  bytes: Uint8Array,
): { readonly text: string; readonly problem: null } | { readonly text: null; readonly problem: string } {
  if (bytes.length > sourceBytes) {
    return { text: null, problem: `is too large: a workflow has at most ${sourceBytes / 1024 / 1024} MiB` }
  }
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), problem: null }
  } catch {
    return { text: null, problem: notUtf8(bytes) }
  }
}

function notUtf8(bytes: Uint8Array): string {
  const [first, second] = bytes
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    return "is UTF-16, not UTF-8: save it as UTF-8"
  }
  const at = firstBadByte(bytes)
  const line = bytes.subarray(0, at).filter((byte) => byte === 10).length + 1
  return `is not UTF-8: bad byte 0x${(bytes[at] ?? 0).toString(16).padStart(2, "0")} in line ${line}`
}

/** Offset of the first byte that is not part of a UTF-8 character. */
function firstBadByte(bytes: Uint8Array): number {
  const lenient = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)
  let at = 0
  for (const character of lenient) {
    const isReal = character !== "\uFFFD" || (bytes[at] === 0xef && bytes[at + 1] === 0xbf && bytes[at + 2] === 0xbd)
    if (!isReal) return at
    at += Buffer.byteLength(character)
  }
  return at
}
