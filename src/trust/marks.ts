import { isForeign } from "../check/file-space.ts"
import type { Span } from "../source/span.ts"

// Labels of a value, each with the ways by which it came. A label is not a flag: a message needs its sources, and a server may
// get back what it gave.

/** `chosen`: strangers chose it, among what the author wrote. */
export type Label = "untrusted" | "private" | "chosen"

export interface Source {
  /** `input.mail`, `tool.search` */
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

/** The ways of each label, in the order of their sources. */
export type Marks = Readonly<Record<Label, readonly Way[]>>

export const labels: readonly Label[] = ["untrusted", "private", "chosen"]

export const none: Marks = { untrusted: [], private: [], chosen: [] }

/** A value may come from thousands of sources. The first ones get a message each; the others come up when these are fixed. */
export const maxSources = 32
/** Longer ways keep their beginning and their end. */
const maxWay = 12

export function marked(label: Label, source: Source): Marks {
  return { ...none, [label]: [{ source, place: source.name, span: source.span, from: null, length: 1 }] }
}

/** All labels, for what is not followed. */
export function allLabels(name: string, span: Span): Marks {
  return join(...labels.map((label) => marked(label, { name, span })))
}

export function isNone(marks: Marks): boolean {
  return labels.every((label) => marks[label].length === 0)
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
  const chosen = joinWays(a.chosen, b.chosen)
  return untrusted === a.untrusted && secret === a.private && chosen === a.chosen
    ? a
    : { untrusted, private: secret, chosen }
}

/** The union. Of two ways from one source the first is kept. */
function joinWays(a: readonly Way[], b: readonly Way[]): readonly Way[] {
  if (a === b || b.length === 0) return a
  if (a.length === 0) return b
  const all: Way[] = []
  let isNew = false
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    const [one, other] = [a[i], b[j]]
    const order = one === undefined ? 1 : other === undefined ? -1 : compare(one.source, other.source)
    if (order <= 0) i++
    if (order >= 0) j++
    const way = order > 0 ? other : one
    isNew ||= order > 0
    if (way !== undefined) all.push(way)
  }
  return isNew ? bounded(all) : a
}

/** The first ones, and the first one of every other server: leaving some out hides neither a label nor a server. */
function bounded(ways: readonly Way[]): readonly Way[] {
  if (ways.length <= maxSources) return ways
  const servers = new Set<string | undefined>()
  return ways.filter(({ source: { server } }, index) => {
    const isKept = index < maxSources || !servers.has(server)
    servers.add(server)
    return isKept
  })
}

/** By place, so that messages come in the order of the text. */
function compare(a: Source, b: Source): number {
  if (a === b) return 0
  const [one, other] = [a.name, b.name]
  return a.span.start - b.span.start || (a.level ?? 0) - (b.level ?? 0) || (one < other ? -1 : one > other ? 1 : 0)
}

/** Whether labels come from the same sources, whatever the ways. */
export function sameSources(a: Marks, b: Marks): boolean {
  return labels.every((label) => {
    const [some, others] = [a[label], b[label]]
    const isSame = ({ source }: Way, index: number): boolean =>
      compare(source, others[index]?.source ?? source) === 0 && source.server === others[index]?.source.server
    return some === others || (some.length === others.length && some.every(isSame))
  })
}

/** The marks with other ways. */
export function changed(marks: Marks, change: (way: Way) => Way): Marks {
  if (isNone(marks)) return marks
  const each = (label: Label): readonly Way[] => {
    const all = marks[label].map(change).sort((a, b) => compare(a.source, b.source))
    // Two sources may be one elsewhere.
    return bounded(all.filter(({ source }, at) => at === 0 || compare(source, all[at - 1]?.source ?? source) !== 0))
  }
  return { untrusted: each("untrusted"), private: each("private"), chosen: each("chosen") }
}

/** The marks after one more place. */
export function via(marks: Marks, place: string, span: Span): Marks {
  return changed(marks, (way) => {
    if (way.place === place) return way
    const isLong = way.length >= maxWay
    return { source: way.source, place, span, from: isLong ? way.from : way, length: way.length + (isLong ? 0 : 1) }
  })
}

export function without(marks: Marks, label: Label): Marks {
  return marks[label].length === 0 ? marks : { ...marks, [label]: [] }
}

/** The labels from sources that others do not have. */
export function minus(marks: Marks, others: Marks): Marks {
  const left = (label: Label): readonly Way[] =>
    marks[label].filter(({ source }) => others[label].every((other) => compare(other.source, source) !== 0))
  return isNone(marks) ? marks : { untrusted: left("untrusted"), private: left("private"), chosen: left("chosen") }
}

/** What strangers wrote becomes what they chose: the author wrote all values that there are. */
export function chosenFrom(marks: Marks): Marks {
  if (marks.untrusted.length === 0) return marks
  return { ...marks, untrusted: [], chosen: joinWays(marks.chosen, marks.untrusted) }
}

/** What strangers chose again and again is as good as what they wrote. */
export function wordsFrom({ chosen }: Marks): Marks {
  return chosen.length === 0 ? none : { ...none, untrusted: chosen }
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
