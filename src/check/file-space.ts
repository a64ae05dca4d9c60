import type { Span } from "../source/span.ts"

/** Offsets from here on are in other files than the one that is checked. No text is so long, and they stay small integers for the engine. */
const foreignFrom = 2 ** 29

/** Whether a span is one of another file. */
export function isForeign({ start }: Span): boolean {
  return start >= foreignFrom
}

/** The stretch of offsets that a text of a file has. */
interface Stretch {
  readonly file: string
  readonly text: string
  readonly base: number
}

/** A place in another file. */
export interface FilePlace {
  readonly file: string
  readonly text: string
  readonly span: Span
}

/** More text than this is not kept for messages: an editor compiles the same files again and again. */
const maxCharacters = 64 * 1024 * 1024

/**
 * Gives each file that others use a stretch of offsets of its own, so that the spans of a declaration that comes from another file tell
 * the file. The file that is checked keeps the offsets of its text. A file that was edited has another stretch.
 */
export class FileSpace {
  #stretches: Stretch[] = []
  readonly #latest = new Map<string, Stretch>()
  #characters = 0
  #next = foreignFrom

  /** The first offset of the stretch. */
  add(file: string, text: string): number {
    const known = this.#latest.get(file)
    if (known?.text === text) return known.base
    const stretch = { file, text, base: this.#next }
    this.#next += text.length + 1
    this.#stretches.push(stretch)
    this.#latest.set(file, stretch)
    this.#characters += text.length
    if (this.#characters > maxCharacters) this.#forgetOlder()
    return stretch.base
  }

  #forgetOlder(): void {
    this.#stretches = this.#stretches.filter((one) => this.#latest.get(one.file) === one)
    this.#characters = this.#stretches.reduce((sum, { text }) => sum + text.length, 0)
  }

  /** Undefined for a span of the file that is checked. */
  locate({ start, end }: Span): FilePlace | undefined {
    let low = 0
    let high = this.#stretches.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#stretches[middle]?.base ?? 0) <= start) low = middle + 1
      else high = middle
    }
    const found = this.#stretches[low - 1]
    return found && { file: found.file, text: found.text, span: { start: start - found.base, end: end - found.base } }
  }
}

/** A piece of the text of a program, or of a file that a declaration of it comes from. */
export function textAt(tree: { readonly text: string }, space: FileSpace, span: Span): string {
  const place = isForeign(span) ? space.locate(span) : undefined
  const { text, span: own } = place ?? { text: tree.text, span }
  return text.slice(own.start, own.end)
}
