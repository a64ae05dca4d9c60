import type { Type, TypeTable } from "../types/types.ts"

/** More values than this are as good as words. */
const mostValues = 1_000_000

/**
 * Whether the author wrote down all values of a type: whoever makes one can only choose. Strings, numbers, arrays of any length,
 * types that contain themselves, and types of too many values are open.
 */
export class ClosedTypes {
  readonly #types: TypeTable
  /** One that is being counted is endless: it contains itself. */
  readonly #schemas = new Map<string, number>()
  readonly #counts = new WeakMap<Type, number>()

  constructor(types: TypeTable) {
    this.#types = types
  }

  isClosed(type: Type): boolean {
    return this.#count(type) <= mostValues
  }

  named(name: string): Type | undefined {
    return this.#types[name]?.type
  }

  #count(type: Type): number {
    const known = this.#counts.get(type)
    if (known !== undefined) return known
    const count = this.#countHere(type)
    this.#counts.set(type, count)
    return count
  }

  #countHere(type: Type): number {
    switch (type.kind) {
      case "null":
      case "literal":
        return 1
      case "boolean":
        return 2
      case "enum":
        return type.values.length
      case "array":
        return type.length === undefined ? Infinity : this.#count(type.element) ** type.length
      case "tuple":
        return this.#product(type.elements)
      case "record":
        return this.#product(type.fields.map((field) => field.type))
      case "variant":
        return sum(type.cases.map(({ fields }) => this.#product(fields.map((field) => field.type))))
      case "union":
        return sum(type.members.map((member) => this.#count(member)))
      case "ref":
        return this.#ofSchema(type.name)
      default:
        return Infinity
    }
  }

  #ofSchema(name: string): number {
    const known = this.#schemas.get(name)
    if (known !== undefined) return known
    this.#schemas.set(name, Infinity)
    const type = this.#types[name]?.type
    const count = type === undefined ? Infinity : this.#count(type)
    this.#schemas.set(name, count)
    return count
  }

  /** Every factor is looked at, so that no schema in it stays uncounted. */
  #product(types: readonly Type[]): number {
    let product = 1
    for (const type of types) product = Math.min(product * this.#count(type), Infinity)
    return product
  }
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
