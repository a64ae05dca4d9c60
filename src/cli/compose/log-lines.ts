import { Buffer } from "node:buffer"
import { write, writeSync } from "node:fs"

/** So much is written at once; less waits for more this long. */
const gatherBytes = 15 * 1024
const gatherMs = 200
/** A reader that does not read, such as a full pipe, is tried again after this pause. */
const pauseMs = 100
/** With so much that nobody reads, new lines are dropped. */
const maxWaiting = 16 * 1024 * 1024

/**
 * Lines of a log, written to a file descriptor a few at a time. A log that cannot be written costs its lines and nothing else: the service works and
 * stops as it would with one. The next line that can be written says how many were lost.
 */
export class LogLines {
  readonly #fd: number
  #waiting: string[] = []
  #bytes = 0
  #lost = 0
  /** Handed to the system, and not confirmed yet. */
  #isWriting = false
  #isGathering = false

  constructor(fd: number) {
    this.#fd = fd
    process.on("exit", () => this.#atExit())
  }

  /** One line, with its line break. */
  write(line: string): void {
    if (this.#bytes > maxWaiting) {
      this.#lost++
      return
    }
    this.#waiting.push(line)
    this.#bytes += line.length
    if (this.#bytes >= gatherBytes) this.flush()
    else this.#flushLater()
  }

  /** Lines that could not be written, since the last one that was. */
  get lost(): number {
    return this.#lost
  }

  flush(): void {
    if (this.#isWriting || this.#waiting.length === 0) return
    const lines = this.#take()
    this.#send(Buffer.from(lines.join("")), lines.length)
  }

  #flushLater(): void {
    if (this.#isGathering) return
    this.#isGathering = true
    setTimeout(() => {
      this.#isGathering = false
      this.flush()
    }, gatherMs).unref()
  }

  #take(): string[] {
    const lines = this.#lost === 0 ? this.#waiting : [lostLine(this.#lost), ...this.#waiting]
    this.#waiting = []
    this.#bytes = 0
    this.#lost = 0
    return lines
  }

  #send(bytes: Buffer, lines: number): void {
    this.#isWriting = true
    write(this.#fd, bytes, (error, written) => {
      if (error !== null && isBusy(error)) {
        setTimeout(() => this.#send(bytes, lines), pauseMs).unref()
        return
      }
      if (error === null && written < bytes.length) return this.#send(bytes.subarray(written), lines)
      this.#isWriting = false
      if (error !== null) this.#lost += lines
      // What came meanwhile is written now; after an error it waits for the next turn.
      if (error === null && this.#bytes >= gatherBytes) this.flush()
      else if (this.#waiting.length > 0) this.#flushLater()
    })
  }

  #atExit(): void {
    if (this.#waiting.length === 0) return
    try {
      writeSync(this.#fd, this.#take().join(""))
    } catch {
      // There is nobody left to tell.
    }
  }
}

function isBusy(error: NodeJS.ErrnoException): boolean {
  return error.code === "EAGAIN" || error.code === "EBUSY"
}

function lostLine(lines: number): string {
  return `{"level":"error","time":"${new Date().toISOString()}","lines":${lines},"msg":"lines of the log could not be written"}\n`
}
