import { Buffer } from "node:buffer"
import { closeSync, fdatasync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs"
import { visibleJson } from "../../base/visible-text.ts"
import { firstPrev, hashOf, longestLine, readLine } from "./audit-line.ts"

const lineEnd = 0x0a
/** Lines of this time are brought to the disk together. */
const syncMs = 1_000
/** So begins each line: what does not is not removed as a line that was cut. */
const lineStart = '{"act":"'

/** The file cannot be used: the message is the end of a sentence that names it. */
export class WrongAuditFile extends Error {}

/**
 * A file of lines, each with the hash of the line before it: a line that is changed, removed or added later no longer fits. Lines are written at once,
 * so that a process that is killed loses none, and brought to the disk within a second: a power failure may take those of the last second. A disk write for each
 * line would make every start of a run wait for it.
 */
export class AuditFile {
  readonly #fd: number
  #size = 0
  #prev = firstPrev
  /** Lines that could not be written, or not whole, since the last one that was. */
  #lost = 0
  #syncing: NodeJS.Timeout | null = null
  readonly #onFailure: (error: Error) => void

  /** Throws a `WrongAuditFile`. `onFailure`: lines that are in the file could not be brought to the disk. */
  constructor(path: string, onFailure: (error: Error) => void = () => undefined) {
    this.#onFailure = onFailure
    try {
      this.#fd = openSync(path, "a+", 0o600)
    } catch (error) {
      throw new WrongAuditFile(`it must be a file that can be written (${codeOf(error)})`)
    }
    try {
      if (!fstatSync(this.#fd).isFile()) throw new WrongAuditFile("it must be a file")
      this.#readEnd()
    } catch (error) {
      closeSync(this.#fd)
      throw error instanceof WrongAuditFile ? error : new WrongAuditFile(`it cannot be read (${codeOf(error)})`)
    }
  }

  /** Whether the last line was cut, by a process that died while it wrote it, and has been removed. */
  get wasCut(): boolean {
    return this.#lost > 0
  }

  /** Throws the error of the system where the line cannot be written; the next line that can be says how many are missing. */
  append(fields: object): void {
    try {
      // Another process may have written meanwhile, and an attempt that failed may have left a part of its line.
      if (fstatSync(this.#fd).size !== this.#size) this.#readEnd()
      const lost = this.#lost === 0 ? {} : { lost: this.#lost }
      const line = visibleJson({ ...fields, ...lost, prev: this.#prev })
      const bytes = Buffer.from(`${line}\n`)
      const written = writeSync(this.#fd, bytes)
      if (written !== bytes.length) throw new Error("A line was written in part")
      this.#size += bytes.length
      this.#prev = hashOf(line)
      this.#lost = 0
      this.#syncing ??= setTimeout(() => this.#sync(), syncMs).unref()
    } catch (error) {
      this.#lost++
      throw error
    }
  }

  #sync(): void {
    this.#syncing = null
    fdatasync(this.#fd, (error) => {
      if (error !== null) this.#onFailure(error)
    })
  }

  close(): void {
    if (this.#syncing !== null) clearTimeout(this.#syncing)
    try {
      fsyncSync(this.#fd)
    } finally {
      closeSync(this.#fd)
    }
  }

  /** Finds the last line, which the next one goes on from. What a write left of a line that is not whole is removed. */
  #readEnd(): void {
    const { size } = fstatSync(this.#fd)
    const length = Math.min(size, 2 * longestLine)
    const end = Buffer.alloc(length)
    readSync(this.#fd, end, 0, length, size - length)
    const whole = end.lastIndexOf(lineEnd) + 1
    const start = whole === 0 ? 0 : end.lastIndexOf(lineEnd, whole - 2) + 1
    const last = end.subarray(start, Math.max(start, whole - 1))
    const isEmpty = whole === 0
    if (isEmpty ? size > longestLine : readLine(last.toString("utf8")) === undefined) {
      throw new WrongAuditFile("its last line is not one of an audit trail: move the file away, or name another one")
    }
    if (isEmpty && size > 0 && !end.toString("utf8").startsWith(lineStart.slice(0, size))) {
      throw new WrongAuditFile("it is not an audit trail: move the file away, or name another one")
    }
    this.#prev = isEmpty ? firstPrev : hashOf(last)
    this.#size = size - (length - whole)
    if (this.#size === size) return
    ftruncateSync(this.#fd, this.#size)
    this.#lost = Math.max(1, this.#lost)
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error)
}
