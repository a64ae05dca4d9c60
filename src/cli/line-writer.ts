import { write, writeSync } from "node:fs"

/** How long a line may wait for others to be written with. */
const gatherMs = 200
/** Characters that are written without waiting for more. */
const enough = 15 * 1024
/** How long a pipe whose reader is behind is left alone. */
const busyMs = 100

/**
 * Writes lines to a file descriptor, in their order and many at a time: a write of its own for each line of a run costs more than
 * all of its events. What is left when the process ends is written then.
 */
export class LineWriter {
  readonly #fd: number
  /** A string that grows: V8 joins its parts once, when they are written. */
  #lines = ""
  #timer: NodeJS.Timeout | null = null
  /** What is being written. */
  #writing: Buffer | null = null

  constructor(fd: number) {
    this.#fd = fd
    process.once("exit", () => this.#writeRest())
  }

  add(line: string): void {
    this.#lines += line
    if (this.#lines.length >= enough) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), gatherMs).unref()
  }

  /** Begins to write what there is. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#writing !== null || this.#lines === "") return
    this.#writing = Buffer.from(this.#lines)
    this.#lines = ""
    this.#write(this.#writing)
  }

  #write(bytes: Buffer): void {
    this.#writing = bytes
    write(this.#fd, bytes, (error, written) => {
      if (error !== null && isBusy(error)) {
        setTimeout(() => this.#write(bytes), busyMs).unref()
        return
      }
      // Without a reader there is nobody to tell.
      const rest = error === null ? bytes.subarray(written) : bytes.subarray(bytes.length)
      if (rest.length > 0) this.#write(rest)
      else {
        this.#writing = null
        if (this.#lines.length >= enough) this.flush()
        else if (this.#lines !== "") this.#timer ??= setTimeout(() => this.flush(), gatherMs).unref()
      }
    })
  }

  /** The process ends: nothing is called back any more. A write that is under way is left to Node. */
  #writeRest(): void {
    let rest = Buffer.from(this.#lines)
    this.#lines = ""
    for (let tries = 0; rest.length > 0 && tries < 100; tries++) {
      try {
        rest = rest.subarray(writeSync(this.#fd, rest))
      } catch (error) {
        if (!isBusy(error)) return
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, busyMs)
      }
    }
  }
}

function isBusy(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined
  return code === "EAGAIN" || code === "EBUSY"
}
