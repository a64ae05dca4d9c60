import { randomInt } from "node:crypto"
import type { Writable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { styleText } from "node:util"
import { visibleLines, visibleText } from "../../base/visible-text.ts"

// The only way to standard output and standard error: the linter refuses `process.stdout` and `process.stderr` elsewhere. What others
// wrote (a service, a server of tools, the author of a file) is in most texts, so that every text is made visible here, whatever was done to it before.

/** Writes bytes to standard output as they come and as they are: for contents that programs and files take. */
export function writeBytes(contents: AsyncIterable<Uint8Array>): Promise<void> {
  return pipeline(contents, process.stdout, { end: false })
}

/** The part of `process.stdout` that the screen needs. */
export interface Stream {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
  write(text: string): boolean
}

/** Marks our own styles until they are written. Nobody else knows the number, so that no text can have a style of its own. */
const ours = Array.from({ length: 4 }, () => randomInt(1_000, 10_000)).join(";")
const marks = new RegExp(`\\u001b\\[${ours};([\\d;]+)m`)

/** Gives texts a style, for texts that a `Screen` writes. */
export function styled(format: Parameters<typeof styleText>[0]): (text: string) => string {
  const marked = styleText(format, "\0", { validateStream: false }).replaceAll("\u001b[", `\u001b[${ours};`)
  const [begin = "", end = ""] = marked.split("\0")
  return (text) => begin + text + end
}

/** Everything that cannot be seen as an escape, except line feeds and our own styles. */
function shown(text: string, visible = visibleLines): string {
  // The odd parts are the numbers of styles.
  const parts = text.split(marks)
  return parts.map((part, at) => (at % 2 === 0 ? visible(part) : `\u001b[${part}m`)).join("")
}

export class Screen {
  readonly #stream: Stream

  constructor(stream: Stream) {
    this.#stream = stream
  }

  get isTerminal(): boolean {
    return this.#stream.isTTY === true
  }

  /** A terminal that does not know its size says 0. */
  get columns(): number {
    return this.#stream.columns || 80
  }

  get rows(): number {
    return this.#stream.rows || 24
  }

  /** A text of one line or several; or lines, none of which can make two. */
  print(lines: string | readonly string[]): void {
    const text = typeof lines === "string" ? shown(lines) : lines.map((line) => shown(line, visibleText)).join("\n")
    this.#stream.write(`${text}\n`)
  }

  /** A document, such as a source or JSON. Programs and files get it as it is. */
  document(text: string): void {
    this.#stream.write(this.isTerminal ? shown(text) : text)
  }

  /** Writes one line over the one that is there; it does not end. */
  overwrite(line: string): void {
    this.#stream.write(`\r\u001b[K${shown(line, visibleText)}`)
  }

  /** Writes lines over the last `up` lines, and clears what is below. */
  redraw(up: number, lines: readonly string[]): void {
    const back = up > 0 ? `\u001b[${up}A\r` : ""
    this.#stream.write(`${back}${lines.map((line) => `${shown(line, visibleText)}\u001b[K\n`).join("")}\u001b[J`)
  }
}

export const standardOutput = new Screen(process.stdout)
export const standardError = new Screen(process.stderr)

/** Hears when the reader of standard output is gone, or it cannot be written. The result ends it. */
export function onOutputError(listener: (error: NodeJS.ErrnoException) => void): () => void {
  process.stdout.on("error", listener)
  return () => void process.stdout.off("error", listener)
}

/** Where a person types: readline echoes there, and writes prompts that were made visible. */
export const typedAt: { readonly stream: Writable; readonly prompt: (text: string) => string } = {
  stream: process.stderr,
  prompt: shown,
}
