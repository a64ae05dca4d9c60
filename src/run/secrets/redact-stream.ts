/** What finds secrets in a text. */
export interface SecretSearch {
  /** The text with its secrets replaced. */
  replace(text: string): string
  /** Where in a text that goes on a secret may begin whose end has not come yet; the text's length when nowhere. */
  openFrom(text: string): number
}

/**
 * Redacts a text that comes in pieces. A secret may be cut anywhere, so whatever may be the beginning of one is held back;
 * what is passed on is what the redaction of the whole text would have begun with.
 */
export class RedactStream {
  readonly #search: SecretSearch | null
  #pending = ""

  constructor(search: SecretSearch | null) {
    this.#search = search
  }

  /** The text that can be shown now. */
  push(piece: string): string {
    if (this.#search === null) return piece
    this.#pending += piece
    let cut = this.#search.openFrom(this.#pending)
    // Not between the halves of one character.
    if (/[\uD800-\uDBFF]/.test(this.#pending[cut - 1] ?? "")) cut--
    if (cut <= 0) return ""
    // Every secret that begins before the cut is whole by now. One that lies across it keeps both sides together.
    const [before, after] = [this.#pending.slice(0, cut), this.#pending.slice(cut)]
    const shown = this.#search.replace(before)
    if (after !== "" && shown + this.#search.replace(after) !== this.#search.replace(this.#pending)) return ""
    this.#pending = after
    return shown
  }

  /** What is left when the text is at its end. */
  end(): string {
    const rest = this.#search === null ? "" : this.#search.replace(this.#pending)
    this.#pending = ""
    return rest
  }
}
