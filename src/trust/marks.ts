import type { Span } from "../source/span.ts"

// Labels of a value, each with the ways by which it came. A label is not a flag: a message needs its sources, and a server may
// get back what it gave.

export type Label = "untrusted" | "private"

export interface Source {
  /** `input.mail`, `tool.search`; it tells sources apart. */
  readonly name: string
  readonly span: Span
  /** The server that gave it, where one did. */
  readonly server?: string
}

/** The way of a value from its source: the last place, and the way to it. */
export interface Way {
  readonly source: Source
  readonly place: string
  readonly span: Span
  readonly from: Way | null
  readonly length: number
}

export interface Marks {
  readonly untrusted: readonly Way[]
  readonly private: readonly Way[]
}

export const none: Marks = { untrusted: [], private: [] }

/** A value may come from thousands of sources. Each of these gets a message; the others come up when these are repaired. */
const mostSources = 8
/** Longer ways keep their beginning and their end. */
const longestWay = 12

export function marked(label: Label, source: Source): Marks {
  const way: Way = { source, place: source.name, span: source.span, from: null, length: 1 }
  return { ...none, [label]: [way] }
}

export function isNone(marks: Marks): boolean {
  return marks.untrusted.length === 0 && marks.private.length === 0
}

export function join(...all: readonly Marks[]): Marks {
  let joined = none
  for (const one of all) {
    if (one === joined || isNone(one)) continue
    joined = isNone(joined) ? one : joinTwo(joined, one)
  }
  return joined
}

function joinTwo(a: Marks, b: Marks): Marks {
  const untrusted = joinWays(a.untrusted, b.untrusted)
  const secret = joinWays(a.private, b.private)
  if (untrusted === a.untrusted && secret === a.private) return a
  return { untrusted, private: secret }
}

function joinWays(a: readonly Way[], b: readonly Way[]): readonly Way[] {
  if (a.length === 0) return b
  const added = b.filter(({ source }) => !a.some((one) => one.source.name === source.name))
  if (added.length === 0) return a
  const all = [...a, ...added]
  if (all.length <= mostSources) return all
  // Leaving some out must not hide that there are sources besides one server's.
  const kept = all.slice(0, mostSources)
  const server = kept[0]?.source.server
  const other = all.find(({ source }) => source.server !== server)
  return other === undefined || kept.includes(other) ? kept : [...kept.slice(1), other]
}

/** The marks after one more place. */
export function via(marks: Marks, place: string, span: Span): Marks {
  if (isNone(marks)) return marks
  const next = (way: Way): Way => {
    if (way.place === place) return way
    const isLong = way.length >= longestWay
    return {
      source: way.source,
      place,
      span,
      from: isLong ? way.from : way,
      length: isLong ? way.length : way.length + 1,
    }
  }
  return { untrusted: marks.untrusted.map(next), private: marks.private.map(next) }
}

export function without(marks: Marks, label: Label): Marks {
  return marks[label].length === 0 ? marks : { ...marks, [label]: [] }
}

/** The places of a way, from the source on. */
export function placesOf(way: Way): Way[] {
  const places: Way[] = []
  for (let at: Way | null = way; at !== null; at = at.from) places.push(at)
  return places.reverse()
}
