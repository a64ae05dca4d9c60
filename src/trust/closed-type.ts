import { remembered } from "../base/remembered.ts"
import { schemasIn } from "../types/type-parts.ts"
import type { Type, TypeTable } from "../types/types.ts"

/** More values than this are as good as words. */
export const maxChoices = 1_000_000

/**
 * Of which types the author wrote down all values: whoever makes one can only choose. Strings, numbers, arrays of any length and types
 * that contain themselves are open, and so are unions with such a member.
 */
export class ClosedTypes {
  readonly #types: TypeTable
  readonly #known = new WeakMap<Type, Choices>()
  readonly #schemas = new Map<string, Choices>()

  constructor(types: TypeTable) {
    this.#types = types
  }

  isClosed(type: Type): boolean {
    const { count, isOpen } = this.of(type)
    return !isOpen && count <= maxChoices
  }

  /** The type of a schema; undefined where it contains itself. */
  named(name: string): Type | undefined {
    const type = this.#types[name]?.type
    return type !== undefined && this.#schema(name) !== open ? type : undefined
  }

  /** How many values the closed parts of a type have together. */
  of(type: Type): Choices {
    return remembered(this.#known, type, () => this.#count(type))
  }

  #count(type: Type): Choices {
    switch (type.kind) {
      case "null":
      case "literal":
        return closed(1)
      case "boolean":
        return closed(2)
      case "enum":
        return closed(type.values.length)
      case "array": {
        if (type.length === undefined) return open
        const { count, isOpen } = this.of(type.element)
        return { count: count ** type.length, isOpen }
      }
      case "tuple":
        return this.#all(type.elements)
      case "record":
        return this.#all(type.fields.map((field) => field.type))
      case "variant":
        return sum(type.cases.map(({ fields }) => this.#all(fields.map((field) => field.type))))
      case "union": {
        const all = sum(type.members.map((member) => this.of(member)))
        return all.isOpen && !isMaybe(type) ? open : all
      }
      case "ref":
        return this.#schema(type.name)
      default:
        return open
    }
  }

  #schema(name: string): Choices {
    return remembered(this.#schemas, name, () => {
      const type = this.#types[name]?.type
      return type === undefined || this.#isCircular(name) ? open : this.of(type)
    })
  }

  /** Whether values of the schema may contain values of it. */
  #isCircular(name: string): boolean {
    const reached = new Set(this.#schemasIn(name))
    // A set goes on with what is added to it meanwhile.
    for (const one of reached) for (const next of this.#schemasIn(one)) reached.add(next)
    return reached.has(name)
  }

  #schemasIn(name: string): readonly string[] {
    const type = this.#types[name]?.type
    return type === undefined ? [] : schemasIn(type)
  }

  #all(types: readonly Type[]): Choices {
    const parts = types.map((type) => this.of(type))
    return {
      count: parts.reduce((product, { count }) => product * count, 1),
      isOpen: parts.some(({ isOpen }) => isOpen),
    }
  }
}

export interface Choices {
  /** Values of the closed parts together: an open part counts as one. */
  readonly count: number
  /** A part of it is open. */
  readonly isOpen: boolean
}

const open: Choices = { count: 1, isOpen: true }

function closed(count: number): Choices {
  return { count, isOpen: false }
}

function sum(parts: readonly Choices[]): Choices {
  return { count: parts.reduce((total, { count }) => total + count, 0), isOpen: parts.some(({ isOpen }) => isOpen) }
}

/** `maybe T`: whether it is null is a choice between two. */
export function isMaybe({ members }: Type & { kind: "union" }): boolean {
  return members.length === 2 && members.some(({ kind }) => kind === "null")
}
