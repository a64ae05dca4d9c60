import { Buffer, isUtf8 } from "node:buffer"
import { closeSync, openSync, readSync } from "node:fs"
import { resolve } from "node:path"
import { fileBytes } from "../../base/limits.ts"
import { sizeText } from "../../base/size-text.ts"
import { findInProject, whyNotInProject } from "../../compiler/project-path.ts"
import { readRegularFile } from "../../compiler/read-regular-file.ts"
import { whyUnreadable } from "./file-errors.ts"

export type TextRead =
  | { readonly text: string; readonly problem: null }
  | { readonly text: null; readonly problem: string }

const maxMebibytes = fileBytes / 1024 / 1024
/** A clause. */
export const tooLarge = `is too large: \`wire\` reads at most ${maxMebibytes} MiB of a file`

/** Reads a file that the user named. It may be a pipe. What is wrong with the file is the `problem`: a clause. */
export function readNamedFile(path: string): TextRead {
  return read(() => {
    const file = openSync(path, "r")
    try {
      const bytes = readUpTo(file, fileBytes + 1)
      return bytes.length > fileBytes ? tooLarge : bytes
    } finally {
      closeSync(file)
    }
  })
}

/** The bytes of a file that the user named for a workflow. It may be a pipe. */
export function readNamedBytes(
  path: string,
  most: number,
): { readonly bytes: Buffer; readonly problem: null } | { readonly bytes: null; readonly problem: string } {
  try {
    const file = openSync(path, "r")
    try {
      const bytes = readUpTo(file, most + 1)
      if (bytes.length <= most) return { bytes, problem: null }
      return { bytes: null, problem: `is larger than ${sizeText(most)} (WIRE_MAX_FILE)` }
    } finally {
      closeSync(file)
    }
  } catch (error) {
    return { bytes: null, problem: whyUnreadable(error) }
  }
}

/** Reads a file that another file of the project names, or that belongs to one: devices and pipes are not read, nor what is outside of the root. */
export function readFoundFile(path: string, root: string): TextRead {
  const found = findInProject(root, resolve(path))
  return "problem" in found ? { text: null, problem: whyNotInProject(root, found.problem) } : readRegular(found.real)
}

export type BytesRead =
  | { readonly bytes: Uint8Array; readonly problem: null }
  | { readonly bytes: null; readonly problem: string }

/** The same for a file of any contents, up to a size. */
export function readFoundBytes(path: string, root: string, most: number): BytesRead {
  const found = findInProject(root, resolve(path))
  if ("problem" in found) return { bytes: null, problem: whyNotInProject(root, found.problem) }
  try {
    const bytes = readRegularFile(found.real, most)
    return bytes === null
      ? { bytes, problem: `is not a regular file of at most ${most / 1024 / 1024} MiB: it is not read` }
      : { bytes, problem: null }
  } catch (error) {
    return { bytes: null, problem: whyUnreadable(error) }
  }
}

/** Reads a file that the user named, and that is not a device or a pipe. */
export function readRegular(path: string): TextRead {
  return read(
    () => readRegularFile(path, fileBytes) ?? `is not a regular file of at most ${maxMebibytes} MiB: it is not read`,
  )
}

function read(bytes: () => Buffer | string): TextRead {
  try {
    const found = bytes()
    if (typeof found === "string") return { text: null, problem: found }
    return isUtf8(found)
      ? { text: found.toString("utf8"), problem: null }
      : { text: null, problem: "is not valid UTF-8" }
  } catch (error) {
    return { text: null, problem: whyUnreadable(error) }
  }
}

/** The first bytes of an open file, until there are no more. */
export function readUpTo(file: number, limit: number): Buffer {
  const chunks: Buffer[] = []
  let length = 0
  while (length < limit) {
    const chunk = Buffer.allocUnsafe(Math.min(64 * 1024, limit - length))
    const read = readSync(file, chunk)
    if (read === 0) break
    chunks.push(chunk.subarray(0, read))
    length += read
  }
  return Buffer.concat(chunks)
}
