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

export const plain: Palette = {
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

/**
 * Where a command writes. How far a long job is shows on one line that overwrites itself and gives way to what is written:
 * on a terminal only, and only once it takes a while.
 */
export class Output {
  readonly #stdout: Stream
  readonly #stderr: Stream
  #nextProgress = performance.now() + 300
  #progressShown = false

  constructor(stdout: Stream = process.stdout, stderr: Stream = process.stderr) {
    this.#stdout = stdout
    this.#stderr = stderr
  }

  /** Results, one or more lines. */
  out(lines: string): void {
    this.clearProgress()
    this.#stdout.write(`${lines}\n`)
  }

  /** Complaints, one or more lines. */
  err(lines: string): void {
    this.clearProgress()
    this.#stderr.write(`${lines}\n`)
  }

  progress(verb: string, done: number, total: number, things = "files"): void {
    if (this.#stderr.isTTY !== true || total < 20 || performance.now() < this.#nextProgress) return
    this.#nextProgress = performance.now() + 100
    this.#progressShown = true
    this.#stderr.write(`\r\u001b[K${verb} ${done} of ${total} ${things}`)
  }

  clearProgress(): void {
    if (this.#progressShown) this.#stderr.write("\r\u001b[K")
    this.#progressShown = false
  }
}
