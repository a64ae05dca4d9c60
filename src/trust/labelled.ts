import type { Span } from "../source/span.ts"
import type * as Marks from "./marks.ts"
import { join, none, via, without } from "./marks.ts"

type Marked = Marks.Marks

/**
 * The labels of a value, path by path. Parts are looked up when they are asked for: types may refer to each other without an end.
 */
export interface Labelled {
  /** Those of the value itself: that it is there, how long it is, which case. Every part has them, too. */
  readonly own: Marked
  /** Those of the value with all that is in it. */
  readonly whole: Marked
  /** Those of an array as a whole that are neither on its length nor on an element that is taken from it. */
  readonly together?: Marked
  field(name: string): Labelled
  /** An element; of an array whose length is known, that one. */
  element(index?: number): Labelled
  /** The object of a variant's case. */
  caseOf(name: string): Labelled
}

/** The same labels everywhere in it. */
export function flat(marks: Marked): Labelled {
  const one: Labelled = { own: marks, whole: marks, field: () => one, element: () => one, caseOf: () => one }
  return one
}

export const plain = flat(none)

/** The value with more labels on itself. */
export function joined(value: Labelled, marks: Marked): Labelled {
  const own = join(value.own, marks)
  if (own === value.own) return value
  return {
    own,
    whole: join(value.whole, marks),
    ...together(value.together),
    field: (name) => joined(value.field(name), marks),
    element: (index) => joined(value.element(index), marks),
    caseOf: (name) => joined(value.caseOf(name), marks),
  }
}

/** An object; what it does not have is as good as null. */
export function record(fields: ReadonlyMap<string, Labelled>): Labelled {
  return {
    own: none,
    whole: join(...[...fields.values()].map(({ whole }) => whole)),
    field: (name) => fields.get(name) ?? plain,
    element: () => plain,
    caseOf: () => plain,
  }
}

export function tuple(items: readonly Labelled[]): Labelled {
  const all = join(...items.map(({ whole }) => whole))
  return {
    own: none,
    whole: all,
    field: () => plain,
    element: (index) => (index === undefined ? either(items) : (items.at(index) ?? plain)),
    caseOf: () => plain,
  }
}

function together(marks: Marked | undefined): Pick<Labelled, "together"> {
  return marks === undefined ? {} : { together: marks }
}

/** An array of such elements; `gathered`: what is on all of them together. */
export function list(own: Marked, element: Labelled, gathered: Marked): Labelled {
  const each = joined(element, own)
  return {
    own,
    whole: join(own, element.whole, gathered),
    together: gathered,
    field: () => flat(own),
    element: () => each,
    caseOf: () => flat(own),
  }
}

/** Deeper parts of a choice have the labels of all of it: choices among choices could grow without bound. */
export const deepestChoice = 4

/** One of several values. */
export function either(values: readonly Labelled[], depth = 0): Labelled {
  const different = [...new Set(values)]
  const [first = plain] = different
  if (different.length <= 1) return first
  const whole = join(...different.map((value) => value.whole))
  if (depth >= deepestChoice) return flat(whole)
  const part = (take: (value: Labelled) => Labelled): Labelled => either(different.map(take), depth + 1)
  return {
    own: join(...different.map((value) => value.own)),
    whole,
    together: join(...different.map((value) => value.together ?? none)),
    field: (name) => part((value) => value.field(name)),
    element: (index) => part((value) => value.element(index)),
    caseOf: (name) => part((value) => value.caseOf(name)),
  }
}

/** The value after one more place. */
export function passed(value: Labelled, place: string, span: Span): Labelled {
  return mapped(value, (marks) => via(marks, place, span))
}

/** The value without a label. */
export function freed(value: Labelled, label: Marks.Label): Labelled {
  return mapped(value, (marks) => without(marks, label))
}

/** The value with other labels. */
export function mapped(value: Labelled, change: (marks: Marked) => Marked): Labelled {
  const whole = change(value.whole)
  if (whole === value.whole) return value
  return {
    own: change(value.own),
    whole,
    ...together(value.together && change(value.together)),
    field: (name) => mapped(value.field(name), change),
    element: (index) => mapped(value.element(index), change),
    caseOf: (name) => mapped(value.caseOf(name), change),
  }
}
