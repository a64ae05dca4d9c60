import { cutText } from "../../base/cut-text.ts"

/** Names that workflows declare are as many as callers like, and every combination of labels costs memory for ever. */
const most = 200
/** They are as long as callers like, too, and each is written once for every bucket of a histogram. */
const longest = 100

/** The first combinations of names have a label each; later ones are counted together as `other`. */
export class BoundedLabels {
  /** By their names: those that are counted are the same few again and again. */
  readonly #known = new Map<string, Readonly<Record<string, string>>>()
  readonly #most: number

  constructor(limit = most) {
    this.#most = limit
  }

  of<Names extends Readonly<Record<string, string>>>(names: Names): Names {
    const key = keyOf(names)
    const known = this.#known.get(key)
    if (known !== undefined) return known as Names
    if (this.#known.size >= this.#most) return mapValues(names, () => "other")
    const cut = mapValues(names, cutName)
    this.#known.set(key, cut)
    return cut
  }
}

/** One text for several names, which may hold anything. */
function keyOf(names: Readonly<Record<string, string>>): string {
  let key = ""
  for (const label in names) {
    const name = cutName(names[label] ?? "")
    key += `${name.length} ${name}`
  }
  return key
}

function cutName(name: string): string {
  return cutText(name, longest)
}

function mapValues<Names extends Readonly<Record<string, string>>>(names: Names, of: (value: string) => string): Names {
  return Object.fromEntries(Object.entries(names).map(([name, value]) => [name, of(value)])) as Names
}
