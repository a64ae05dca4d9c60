import type { Span } from "../source/span.ts"

/** Offsets from here on are in other files than the one that is checked: no text is so long. */
const foreignFrom = 2 ** 32

/** Whether a span is one of another file. */
export function isForeign({ start }: Span): boolean {
  return start >= foreignFrom
}

/** A stretch of offsets that one use of a file has. */
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
const mostCharacters = 64 * 1024 * 1024

/**
 * Gives each use of a file a stretch of offsets of its own, so that the spans of a declaration that comes from another file tell the
 * file. The file that is checked keeps the offsets of its text.
 */
export class FileSpace {
  #stretches: Stretch[] = []
  #characters = 0
  #next = foreignFrom

  /** The first offset of the stretch. */
  add(file: string, text: string): number {
    const base = this.#next
    this.#next += text.length + 1
    this.#stretches.push({ file, text, base })
    this.#characters += text.length
    while (this.#characters > mostCharacters && this.#stretches.length > 1) {
      this.#characters -= this.#stretches.shift()?.text.length ?? 0
    }
    return base
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
