import type { Span } from "../source/span.ts"
import { isNone, join, none, sameSources, via, type Marks } from "./marks.ts"

/** The parts of a value that differ from each other. A part that is not named has the labels of `rest`. */
interface Shape {
  /** By name, and by position: `[0]`. */
  readonly parts: ReadonlyMap<string, Labelled>
  /** Labels that each case of a variant adds to those parts. */
  readonly cases: ReadonlyMap<string, Labelled>
  readonly rest: Labelled
  /** What a loop sees, one element at a time. */
  readonly each: Labelled
}

/** Higher values are widened: reading a part of one would take as many calls within each other. */
const maxHeight = 100

const noParts: ReadonlyMap<string, Labelled> = new Map()

/**
 * The labels of a value: a tree that mirrors its type. It is a function from paths to labels, and join is the join at each path; all else
 * follows from that. Parts are made when they are asked for, because types may contain themselves. Only this file looks into one.
 */
export class Labelled {
  /** On the value itself: that it is there, how long it is, which case. Every part has them, too. */
  readonly own: Marks
  /** On the value with all that is in it. */
  readonly whole: Marks
  /** On an array as a whole: more than on its length, or on an element that a loop sees. */
  readonly together: Marks
  #make: (() => Partial<Shape>) | undefined
  #shape: Shape | undefined
  /** How many values, each made of the one before, are looked into when a part of this one is read. */
  readonly #height: number

  /** Without `make`, every part has the labels of the value. Parts that it leaves out have those of the value itself. */
  constructor(own: Marks, whole: Marks, together: Marks, make?: () => Partial<Shape>, height = 0) {
    this.own = own
    this.whole = whole
    this.together = join(own, together)
    this.#make = make
    this.#height = height
  }

  #parts(): Shape {
    if (this.#shape !== undefined) return this.#shape
    if (this.#make === undefined) {
      return (this.#shape = { parts: noParts, cases: noParts, rest: this, each: this })
    }
    const made = this.#make()
    const [parts, cases] = [made.parts ?? noParts, made.cases ?? noParts]
    const rest = made.rest ?? flat(this.together)
    const each = made.each ?? either([...parts.values(), rest])
    this.#make = undefined
    return (this.#shape = { parts, cases, rest, each })
  }

  #isFlat(): boolean {
    return this.#shape === undefined ? this.#make === undefined : this.#shape.rest === this
  }

  /** A field, of a variant that of any case. */
  field(name: string): Labelled {
    const { parts, cases, rest } = this.#parts()
    return either([parts.get(name) ?? rest, ...[...cases.values()].map((one) => one.field(name))])
  }

  position(index: number): Labelled {
    return this.field(position(index))
  }

  /** An element, as a loop sees it. */
  element(): Labelled {
    return this.#parts().each
  }

  /** A part of which nobody knows which one it is. */
  any(): Labelled {
    const { parts, cases, rest, each } = this.#parts()
    return either([...parts.values(), ...[...cases.values()].map((one) => one.any()), rest, each])
  }

  /** The object of a case. An object that is not a variant may be one elsewhere: it is that case. */
  caseOf(name: string): Labelled {
    const { parts, cases, rest, each } = this.#parts()
    if (cases.size === 0) return this
    const whole = join(this.own, this.together, rest.whole, ...[...parts.values()].map((one) => one.whole))
    const common = new Labelled(this.own, whole, this.together, () => ({ parts, rest, each }))
    return either([common, cases.get(name) ?? flat(this.own)])
  }

  /** The value with more labels on itself. */
  with(marks: Marks): Labelled {
    return join(this.own, marks) === this.own
      ? this
      : this.#each(
          (one) => join(one, marks),
          (part) => part.with(marks),
        )
  }

  /** The value with other labels. `change` says the same of a join as of what is joined. */
  map(change: (marks: Marks) => Marks): Labelled {
    return change(this.whole) === this.whole ? this : this.#each(change, (part) => part.map(change))
  }

  #each(change: (marks: Marks) => Marks, inner: (part: Labelled) => Labelled): Labelled {
    if (this.#isFlat()) return flat(change(this.whole))
    if (this.#height === maxHeight) return this.widened().#each(change, inner)
    const make = (): Shape => {
      const { parts, cases, rest, each } = this.#parts()
      return { parts: mapped(parts, inner), cases: mapped(cases, inner), rest: inner(rest), each: inner(each) }
    }
    return new Labelled(change(this.own), change(this.whole), change(this.together), make, this.#height + 1)
  }

  /** An array of what each element is made into. An element keeps its position. */
  elements(own: Marks, change: (element: Labelled) => Labelled): Labelled {
    const { parts, rest, each } = this.#parts()
    const made = change(each).with(own)
    const inner = (part: Labelled): Labelled => (part === each ? made : change(part).with(own))
    const positions = mapped(new Map([...parts].filter(([name]) => name.startsWith("["))), inner)
    const shape = { parts: positions, rest: inner(rest), each: made }
    const whole = join(own, this.together, made.whole, shape.rest.whole, wholes(positions.values()))
    return new Labelled(own, whole, this.together, () => shape)
  }

  /** One of several values. */
  static readonly either = (values: readonly Labelled[]): Labelled => {
    const [first = plain, ...others] = new Set(values.filter((one) => one !== plain))
    if (others.length === 0) return first
    const all = [first, ...others]
    const height = Math.max(...all.map((one) => one.#height)) + 1
    if (height > maxHeight) return either(all.map((one) => one.widened()))
    const marks = (take: (value: Labelled) => Marks): Marks => join(...all.map(take))
    return new Labelled(
      marks(({ own }) => own),
      marks(({ whole }) => whole),
      marks(({ together }) => together),
      () => {
        const shapes = all.map((one) => one.#parts())
        const named = (
          which: "parts" | "cases",
          otherwise: (shape: Shape, at: number) => Labelled,
        ): Map<string, Labelled> => {
          const names = new Set(shapes.flatMap((shape) => [...shape[which].keys()]))
          return new Map(
            [...names].map((name) => [
              name,
              either(shapes.map((shape, at) => shape[which].get(name) ?? otherwise(shape, at))),
            ]),
          )
        }
        return {
          parts: named("parts", ({ rest }) => rest),
          cases: named("cases", (_, at) => flat(all[at]?.own ?? none)),
          rest: either(shapes.map(({ rest }) => rest)),
          each: either(shapes.map(({ each }) => each)),
        }
      },
      height,
    )
  }

  static lazy(own: Marks, whole: Marks, make: () => Labelled): Labelled {
    return new Labelled(own, whole, none, () => make().with(own).#parts())
  }

  /** At least as many labels in a finite tree: what is deeper, or more than so many parts, has those of all that is in it. */
  widened(depth = 5, left = { parts: 200 }): Labelled {
    if (this.#isFlat()) return this
    if (depth === 0 || left.parts <= 0) return flat(this.whole)
    const { parts, cases, rest, each } = this.#parts()
    left.parts -= parts.size + cases.size + 1
    const inner = (part: Labelled): Labelled => part.widened(depth - 1, left)
    const shape = { parts: mapped(parts, inner), cases: mapped(cases, inner), rest: inner(rest), each: inner(each) }
    return new Labelled(this.own, this.whole, this.together, () => shape)
  }

  /** Whether both have the same labels from the same sources on every path. For widened trees, which end. */
  equals(other: Labelled, depth = 10): boolean {
    if (this === other) return true
    const isSame =
      sameSources(this.own, other.own) &&
      sameSources(this.whole, other.whole) &&
      sameSources(this.together, other.together)
    const [one, two] = [this.#parts(), other.#parts()]
    if (!isSame || (one.rest === this && two.rest === other)) return isSame
    if (depth === 0) return false
    const inner = (a: Labelled, b: Labelled): boolean => a.equals(b, depth - 1)
    const names = [...one.parts.keys(), ...two.parts.keys()]
    const cases = [...one.cases.keys(), ...two.cases.keys()]
    return (
      inner(one.rest, two.rest) &&
      inner(one.each, two.each) &&
      names.every((name) => inner(one.parts.get(name) ?? one.rest, two.parts.get(name) ?? two.rest)) &&
      cases.every((name) => inner(one.cases.get(name) ?? flat(this.own), two.cases.get(name) ?? flat(other.own)))
    )
  }
}

export const { either } = Labelled

function mapped(
  parts: ReadonlyMap<string, Labelled>,
  inner: (part: Labelled) => Labelled,
): ReadonlyMap<string, Labelled> {
  return parts.size === 0 ? parts : new Map([...parts].map(([name, part]) => [name, inner(part)]))
}

export const plain = new Labelled(none, none, none)

/** The same labels everywhere in it. */
export function flat(marks: Marks): Labelled {
  return isNone(marks) ? plain : new Labelled(marks, marks, none)
}

function wholes(values: Iterable<Labelled>): Marks {
  return join(...[...values].map(({ whole }) => whole))
}

/** An object; a field that it does not have is null. */
export function record(parts: ReadonlyMap<string, Labelled>): Labelled {
  const whole = wholes(parts.values())
  return isNone(whole) ? plain : new Labelled(none, whole, none, () => ({ parts }))
}

export function tuple(items: readonly Labelled[]): Labelled {
  const last = items.slice(-1).map((item) => [position(-1), item] as const)
  return record(new Map([...items.map((item, index) => [position(index), item] as const), ...last]))
}

/** The last one is that at -1. */
function position(index: number): string {
  return `[${index}]`
}

/** An object that is one of several. */
export function variant(cases: ReadonlyMap<string, Labelled>): Labelled {
  const whole = wholes(cases.values())
  return isNone(whole) ? plain : new Labelled(none, whole, none, () => ({ cases }))
}

/** A value that is made when a part of it is read. */
export function lazy(own: Marks, whole: Marks, make: () => Labelled): Labelled {
  return isNone(whole) ? plain : Labelled.lazy(own, whole, make)
}

/**
 * An array. `together` is on all elements together: on the whole, and on an element that is picked by its position. `first`: so many
 * positions, and the last one, are without it.
 */
export function list(own: Marks, element: Labelled, together: Marks, first = 0): Labelled {
  const each = element.with(own)
  return new Labelled(own, join(own, element.whole, together), together, () => {
    const free = Array.from({ length: first }, (_, index) => [position(index), each] as const)
    const parts = new Map(first > 0 ? [...free, [position(-1), each] as const] : [])
    return { parts, each, rest: each.with(together) }
  })
}

/** The value after one more place. */
export function passed(value: Labelled, place: string, span: Span): Labelled {
  return value.map((marks) => via(marks, place, span))
}
