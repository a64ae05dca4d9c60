import { isIdentifier } from "../base/identifier.ts"

const longest = 80

/** Names of declarations, each once. */
export class FreeNames {
  readonly #taken = new Set<string>()

  /** The name itself, with `_` for each character that a name cannot have, and a number where it is taken. */
  of(text: string): string {
    const plain = text.slice(0, longest).replaceAll(/[^A-Za-z0-9_]/g, "_")
    const base = isIdentifier(plain) ? plain : `_${plain}`
    let free = base
    for (let count = 2; this.#taken.has(free); count++) free = `${base}_${count}`
    this.#taken.add(free)
    return free
  }
}
