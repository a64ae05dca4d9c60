import { cutText } from "../../base/cut-text.ts"

/** Names that workflows declare are as many as callers like, and every combination of labels costs memory for ever. */
const most = 200
/** They are as long as callers like, too, and each is written once for every bucket of a histogram. */
const longest = 100

/** The first combinations of names have a label each; later ones are counted together as `other`. */
export class BoundedLabels {
  readonly #known = new Set<string>()
  readonly #most: number

  constructor(limit = most) {
    this.#most = limit
  }

  of<Names extends Readonly<Record<string, string>>>(names: Names): Names {
    const cut = mapValues(names, (name) => cutText(name, longest))
    const key = JSON.stringify(Object.values(cut))
    if (this.#known.has(key)) return cut
    if (this.#known.size < this.#most) {
      this.#known.add(key)
      return cut
    }
    return mapValues(names, () => "other")
  }
}

function mapValues<Names extends Readonly<Record<string, string>>>(names: Names, of: (value: string) => string): Names {
  return Object.fromEntries(Object.entries(names).map(([name, value]) => [name, of(value)])) as Names
}
