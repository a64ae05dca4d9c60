import { remembered } from "../base/remembered.ts"
import type { Type } from "../types/types.ts"
import type { ClosedTypes } from "./closed-type.ts"
import { either, flat, joined, type Labelled } from "./labelled.ts"
import { without, type Marks } from "./marks.ts"

/**
 * The labels of what a model made after it had read values with these. Of a closed type it can only choose what the author wrote:
 * that is trusted. Private data shows in a choice, too.
 */
export function made(type: Type, read: Marks, closed: ClosedTypes): Labelled {
  const chosen = without(read, "untrusted")
  if (chosen === read || closed.isClosed(type)) return flat(chosen)
  const inner = (part: Type): Labelled => made(part, read, closed)
  const parts = (of: Pick<Labelled, "field" | "element" | "caseOf" | "together">): Labelled => {
    return joined({ own: chosen, whole: read, ...of }, chosen)
  }
  const fields = (of: readonly { readonly name: string; readonly type: Type }[]): ((name: string) => Labelled) => {
    const types = new Map(of.map((one) => [one.name, one.type]))
    const known = new Map<string, Labelled>()
    return (name) => {
      const one = types.get(name)
      return one === undefined ? flat(chosen) : remembered(known, name, () => inner(one))
    }
  }
  const nothing = (): Labelled => flat(chosen)
  switch (type.kind) {
    case "record":
      return parts({ field: fields(type.fields), element: nothing, caseOf: nothing })
    case "tuple":
      return parts({
        field: nothing,
        caseOf: nothing,
        element: (index) => {
          const one = index === undefined ? undefined : type.elements.at(index)
          return one === undefined ? flat(read) : inner(one)
        },
      })
    case "array":
      // The model decides the length of an array that has none.
      if (type.length === undefined) return flat(read)
      return parts({ field: nothing, caseOf: nothing, together: read, element: () => inner(type.element) })
    case "variant": {
      const cases = new Map(type.cases.map((one) => [one.name, fields(one.fields)]))
      const caseOf = (name: string): Labelled => {
        return parts({ field: cases.get(name) ?? nothing, element: nothing, caseOf: nothing })
      }
      const field = (name: string): Labelled => {
        return name === type.tag ? flat(chosen) : either([...cases.values()].map((one) => one(name)))
      }
      return parts({ field, element: nothing, caseOf })
    }
    case "union": {
      const others = type.members.filter((member) => member.kind !== "null")
      const [only] = others
      // `maybe T`: whether it is null is a choice between two.
      return others.length === 1 && only !== undefined ? inner(only) : flat(read)
    }
    case "ref": {
      const named = closed.named(type.name)
      return named === undefined ? flat(read) : inner(named)
    }
    default:
      return flat(read)
  }
}
