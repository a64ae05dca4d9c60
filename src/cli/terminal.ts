import { styleText } from "node:util"

/** As much of `process.stdout` as is needed here. */
interface Stream {
  readonly isTTY?: boolean
  write(text: string): boolean
}

/** Gives text a style, or leaves it as it is. */
export interface Palette {
  readonly error: (text: string) => string
  readonly warning: (text: string) => string
  readonly hint: (text: string) => string
  readonly faint: (text: string) => string
  readonly bold: (text: string) => string
}

const plain: Palette = {
  error: (text) => text,
  warning: (text) => text,
  hint: (text) => text,
  faint: (text) => text,
  bold: (text) => text,
}

const style = (format: Parameters<typeof styleText>[0]) => (text: string) =>
  styleText(format, text, { validateStream: false })

const coloured: Palette = {
  error: style(["bold", "red"]),
  warning: style(["bold", "yellow"]),
  hint: style("cyan"),
  faint: style("dim"),
  bold: style("bold"),
}

export function paletteFor(stream: Stream, environment: NodeJS.ProcessEnv = process.env): Palette {
  return wantsColour(stream.isTTY, environment) ? coloured : plain
}

/** FORCE_COLOR, then NO_COLOR (any value but the empty one), then whether it is a terminal that can. */
export function wantsColour(isTerminal: boolean | undefined, environment: NodeJS.ProcessEnv): boolean {
  const { FORCE_COLOR: force, NO_COLOR: no, TERM: term } = environment
  if (force !== undefined && force !== "") return force !== "0" && force !== "false"
  if (no !== undefined && no !== "") return false
  return isTerminal === true && term !== "dumb"
}

/** How far a long job is, on one line that overwrites itself: on a terminal only, and only once it takes a while. */
export class Progress {
  readonly #stream: Stream
  readonly #total: number
  readonly #verb: string
  #next: number
  #shown = false

  constructor(stream: Stream, verb: string, total: number) {
    this.#stream = stream
    this.#verb = verb
    this.#total = total
    this.#next = performance.now() + 300
  }

  at(done: number): void {
    if (this.#stream.isTTY !== true || this.#total < 20 || performance.now() < this.#next) return
    this.#next = performance.now() + 100
    this.#shown = true
    this.#stream.write(`\r\u001b[K${this.#verb} ${done} of ${this.#total} files`)
  }

  clear(): void {
    if (this.#shown) this.#stream.write("\r\u001b[K")
    this.#shown = false
  }
}
