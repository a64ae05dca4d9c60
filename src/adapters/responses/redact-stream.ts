import type { ModelWatch } from "../../run/ports.ts"

/**
 * Redacts a text that comes in pieces. A secret may be cut anywhere, so as much is held back as the longest secret could
 * still need; what is passed on is what the redaction of the whole text would have begun with.
 */
export class RedactStream {
  readonly #watch: Pick<ModelWatch, "redact" | "longest_secret">
  #pending = ""

  constructor(watch: Pick<ModelWatch, "redact" | "longest_secret">) {
    this.#watch = watch
  }

  /** The text that can be shown now. */
  push(piece: string): string {
    if (this.#watch.longest_secret === 0) return piece
    this.#pending += piece
    let cut = this.#pending.length - this.#watch.longest_secret + 1
    // Not between the halves of one character.
    if (/[\uD800-\uDBFF]/.test(this.#pending[cut - 1] ?? "")) cut--
    if (cut <= 0) return ""
    // Every secret that begins before the cut is whole by now. One that lies across it keeps both sides together.
    const [before, after] = [this.#pending.slice(0, cut), this.#pending.slice(cut)]
    const shown = this.#watch.redact(before)
    if (shown + this.#watch.redact(after) !== this.#watch.redact(this.#pending)) return ""
    this.#pending = after
    return shown
  }

  /** What is left when the text is at its end. */
  end(): string {
    const rest = this.#watch.redact(this.#pending)
    this.#pending = ""
    return rest
  }
}
