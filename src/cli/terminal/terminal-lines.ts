import { typedAt } from "./screen.ts"
import { createInterface, type Interface } from "node:readline"
import type { Readable, Writable } from "node:stream"

/** The person closed the input, as with Ctrl+D. */
export class InputEnded extends Error {}

interface Waiting {
  take(line: string): void
  fail(error: unknown): void
}

/** Reads lines from a person, one after the other. Lines that were typed ahead wait for the next prompt. */
export class TerminalLines {
  readonly #lines: string[] = []
  readonly #readline: Interface
  #waiting: Waiting | null = null
  #ended = false

  constructor(input: Readable & { isTTY?: boolean }, output: Writable, onInterrupt: () => void) {
    this.#readline = createInterface({ input, output, terminal: input.isTTY === true })
    this.#readline.on("line", (line) => {
      if (this.#waiting === null) this.#lines.push(line)
      else this.#settle().take(line)
    })
    this.#readline.on("SIGINT", onInterrupt)
    this.#readline.on("close", () => {
      this.#ended = true
      if (this.#waiting !== null) this.#settle().fail(new InputEnded())
    })
  }

  #settle(): Waiting {
    const waiting = this.#waiting
    if (waiting === null) throw new Error("No caller waits for a line")
    this.#waiting = null
    return waiting
  }

  /** Rejects with the signal's reason when it aborts, with `InputEnded` when there are no more lines. */
  async next(prompt: string, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted()
    const ready = this.#lines.shift()
    if (ready === undefined && this.#ended) throw new InputEnded()
    if (!this.#ended) {
      this.#readline.setPrompt(typedAt.prompt(prompt))
      this.#readline.prompt()
    }
    if (ready !== undefined) return ready
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    this.#waiting = { take: resolve, fail: reject }
    const onAbort = (): void => {
      this.#waiting = null
      reject(signal.reason as Error)
    }
    signal.addEventListener("abort", onAbort, { once: true })
    try {
      return await promise
    } finally {
      signal.removeEventListener("abort", onAbort)
    }
  }

  close(): void {
    this.#readline.close()
  }
}
