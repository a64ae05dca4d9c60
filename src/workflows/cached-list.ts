import { stepsInTurns } from "../event-loop/in-turns.ts"

/** An item of a list, by its place in the list's order. */
export interface NamedItem {
  readonly name: string
  readonly value: unknown
}

export interface ListPart {
  /** Bytes where they are kept. */
  readonly json: string | Buffer
  /** The name of its last item where more follow. */
  readonly next: string | null
}

interface ListForm {
  /** Bytes of the items of one part, at most; a single item may have more. */
  readonly pageBytes: number
  /** A part as JSON, from the JSON of its items with commas between them. */
  write(items: string, next: string | null): string
}

/**
 * A list as JSON, sorted by name, which many ask for again and again. Its pages are bytes that all answers share: readers may be slow,
 * and many.
 */
export class CachedList {
  readonly #items: readonly { readonly name: string; readonly text: string; readonly bytes: number }[]
  readonly #form: ListForm
  /** By the index that they begin at. */
  readonly #pages = new Map<number, ListPart>()

  private constructor(items: readonly { name: string; text: string; bytes: number }[], form: ListForm) {
    this.#items = items
    this.#form = form
    for (let from = 0; from < items.length;) {
      const to = this.#end(from, Number.POSITIVE_INFINITY)
      const { json, next } = this.#part(from, to)
      this.#pages.set(from, { json: Buffer.from(json), next })
      from = to
    }
  }

  /** Made in turns of the event loop: there may be thousands of items. */
  static async of(items: Iterable<NamedItem>, form: ListForm): Promise<CachedList> {
    const written: { name: string; text: string; bytes: number }[] = []
    await stepsInTurns(
      (function* () {
        for (const { name, value } of items) {
          const text = JSON.stringify(value)
          yield { name, text, bytes: Buffer.byteLength(text) + 1 }
        }
      })(),
      (item) => written.push(item),
    )
    return new CachedList(written, form)
  }

  /** The items after a name: as many as fit on a page, at most `limit`, and at least one where there are any. */
  after(name: string | null, limit = Number.POSITIVE_INFINITY): ListPart {
    const found = name === null ? 0 : this.#items.findIndex((item) => item.name > name)
    if (found < 0 || this.#items.length === 0) return { json: this.#form.write("", null), next: null }
    const kept = limit === Number.POSITIVE_INFINITY ? this.#pages.get(found) : undefined
    return kept ?? this.#part(found, this.#end(found, limit))
  }

  #end(from: number, limit: number): number {
    let bytes = 0
    let to = from
    while (to < this.#items.length && to - from < limit) {
      bytes += this.#items[to]?.bytes ?? 0
      if (to > from && bytes > this.#form.pageBytes) break
      to++
    }
    return to
  }

  #part(from: number, to: number): { readonly json: string; readonly next: string | null } {
    const part = this.#items.slice(from, to)
    const next = to < this.#items.length ? (part.at(-1)?.name ?? null) : null
    return { json: this.#form.write(part.map(({ text }) => text).join(","), next), next }
  }
}
