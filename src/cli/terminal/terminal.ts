import { type Screen, standardError, standardOutput, styled } from "./screen.ts"

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

const coloured: Palette = {
  error: styled(["bold", "red"]),
  warning: styled(["bold", "yellow"]),
  hint: styled("cyan"),
  faint: styled("dim"),
  bold: styled("bold"),
}

export function paletteFor(screen: Screen, environment: NodeJS.ProcessEnv = process.env): Palette {
  return wantsColour(screen.isTerminal, environment) ? coloured : plain
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
  readonly #stdout: Screen
  readonly #stderr: Screen
  #nextProgress = performance.now() + 300
  #progressShown = false

  constructor(stdout = standardOutput, stderr = standardError) {
    this.#stdout = stdout
    this.#stderr = stderr
  }

  /** Results: a text, or lines. */
  out(lines: string | readonly string[]): void {
    this.clearProgress()
    this.#stdout.print(lines)
  }

  /** Complaints: a text, or lines. */
  err(lines: string | readonly string[]): void {
    this.clearProgress()
    this.#stderr.print(lines)
  }

  progress(verb: string, done: number, total: number, things = "files"): void {
    if (!this.#stderr.isTerminal || total < 20 || performance.now() < this.#nextProgress) return
    this.#nextProgress = performance.now() + 100
    this.#progressShown = true
    this.#stderr.overwrite(`${verb} ${done} of ${total} ${things}`)
  }

  clearProgress(): void {
    if (this.#progressShown) this.#stderr.overwrite("")
    this.#progressShown = false
  }
}
