import { isForeign } from "../check/file-space.ts"
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
  /** How many calls of files it went into: a file and its caller may have sources of one name. */
  readonly level?: number
}

/** The way of a value from its source: the last place, and the way to it. */
export interface Way {
  readonly source: Source
  readonly place: string
  readonly span: Span
  readonly from: Way | null
  readonly length: number
  /** The span is one among those of all files, as it is in a way that crossed into another file. So are those before it. */
  readonly isPlaced?: true
  /** The places of a called file that it went through here, all of them placed. */
  readonly inside?: readonly Way[]
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
  const added = b.filter(({ source }) => !a.some((one) => isSame(one.source, source)))
  if (added.length === 0) return a
  const all = [...a, ...added]
  if (all.length <= mostSources) return all
  // Leaving some out must not hide that there are sources besides one server's.
  const kept = all.slice(0, mostSources)
  const server = kept[0]?.source.server
  const other = all.find(({ source }) => source.server !== server)
  return other === undefined || kept.includes(other) ? kept : [...kept.slice(1), other]
}

/** Whether labels come from the same sources, whatever the ways. */
export function sameSources(a: Marks, b: Marks): boolean {
  const same = (some: readonly Way[], others: readonly Way[]): boolean => {
    if (some === others) return true
    return (
      some.length === others.length && some.every((one) => others.some((other) => isSame(one.source, other.source)))
    )
  }
  return same(a.untrusted, b.untrusted) && same(a.private, b.private)
}

function isSame(a: Source, b: Source): boolean {
  return a.name === b.name && a.level === b.level
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

/** The way with its places among those of all files; `base`: the first offset of the file that it is seen in. */
export function placed(way: Way, base: number): Way {
  if (way.isPlaced === true) return way
  return { ...way, span: spanFrom(way.span, base), from: way.from && placed(way.from, base), isPlaced: true }
}

/** A span of a file among those of all files. */
export function spanFrom(span: Span, base: number): Span {
  return isForeign(span) ? span : { start: span.start + base, end: span.end + base }
}

/** The places of a way, from the source on. */
export function placesOf(way: Way): Way[] {
  const places: Way[] = []
  for (let at: Way | null = way; at !== null; at = at.from) places.push(at)
  return places.reverse()
}
