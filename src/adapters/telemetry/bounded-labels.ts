/** Names that workflows declare are as many as callers like, and every combination of labels costs memory for ever. */
const most = 200

/** The first combinations of names have a label each; later ones are counted together as `other`. */
export class BoundedLabels {
  readonly #known = new Set<string>()
  readonly #most: number

  constructor(limit = most) {
    this.#most = limit
  }

  of<Names extends Readonly<Record<string, string>>>(names: Names): Names {
    const key = JSON.stringify(Object.values(names))
    if (this.#known.has(key)) return names
    if (this.#known.size < this.#most) {
      this.#known.add(key)
      return names
    }
    return Object.fromEntries(Object.keys(names).map((name) => [name, "other"])) as Names
  }
}
