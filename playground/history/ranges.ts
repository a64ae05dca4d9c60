import { costNumber, counted, shortNumber, showDuration } from "../ui/show.ts"

/** What a step took. */
export interface StepFigures {
  readonly ms: number
  readonly tokens: number
  /** Null where it is not known. */
  readonly cost: number | null
}

/** What a step took in earlier runs of the same file: the least and the most. */
export interface Expected {
  readonly runs: number
  readonly ms: Range
  readonly tokens: Range
  /** Null where a run did not know it. */
  readonly cost: Range | null
}

type Range = readonly [least: number, most: number]

/** Null where there is nothing to go by. */
export function rangesOf(figures: readonly StepFigures[]): Expected | null {
  if (figures.length === 0) return null
  const costs = figures.flatMap(({ cost }) => cost ?? [])
  return {
    runs: figures.length,
    ms: rangeOf(figures.map(({ ms }) => ms)),
    tokens: rangeOf(figures.map(({ tokens }) => tokens)),
    cost: costs.length < figures.length ? null : rangeOf(costs),
  }
}

function rangeOf(values: readonly number[]): Range {
  return [Math.min(...values), Math.max(...values)]
}

/** Adds the expected figures of two steps that follow each other. */
export function addedExpected(one: Expected, other: Expected): Expected {
  return {
    runs: Math.min(one.runs, other.runs),
    ms: added(one.ms, other.ms),
    tokens: added(one.tokens, other.tokens),
    cost: one.cost === null || other.cost === null ? null : added(one.cost, other.cost),
  }
}

function added(one: Range, other: Range): Range {
  return [one[0] + other[0], one[1] + other[1]]
}

/** `12–65 ms · 78–93 tok · cost 0.01–0.02` */
export function expectedFigures({ ms, tokens, cost }: Expected): string {
  const figures = [
    durations(ms),
    tokens[1] === 0 ? "" : `${span(tokens, shortNumber)} tok`,
    cost === null || cost[1] === 0 ? "" : `cost ${span(cost, costNumber)}`,
  ]
  return figures.filter((figure) => figure !== "").join(" · ")
}

/** `In 3 earlier runs: 12–65 ms` */
export function expectedSentence(found: Expected): string {
  return `In ${counted(found.runs, "earlier run")}: ${expectedFigures(found)}`
}

/** The unit once, where both have the same. */
function durations([least, most]: Range): string {
  const [from, to] = [showDuration(least), showDuration(most)]
  if (from === to) return to
  const [unit = ""] = / [a-z]+$/.exec(to) ?? []
  return from.endsWith(unit) && !from.slice(0, -unit.length).includes(" ") && !to.slice(0, -unit.length).includes(" ")
    ? `${from.slice(0, -unit.length)}–${to}`
    : `${from} – ${to}`
}

function span([least, most]: Range, show: (value: number) => string): string {
  return least === most ? show(most) : `${show(least)}–${show(most)}`
}
