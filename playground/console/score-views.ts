import type { ListedRunAnswer, ScoresAnswer } from "../../src/client/client.ts"
import { reasonOf, valueOfScore } from "./show-scores.ts"

type Sum = ScoresAnswer["scores"][number]

/** Results that belong together: of a day, of a version, of all. */
export interface Results {
  readonly count: number
  /** Null where they are no numbers. */
  readonly mean: number | null
  /** By value, from 0 to 1. */
  readonly shares: Readonly<Record<string, number>>
}

export interface ScoreView extends Results {
  readonly name: string
  /** Every value that was given in this time, in the order of their names; booleans the other way, for true comes first. */
  readonly values: readonly string[]
  /** One for each day of the span; null where nothing was scored. */
  readonly days: readonly { readonly day: string; readonly results: Results | null }[]
  readonly rows: readonly { readonly key: string | null; readonly results: Results }[]
}

const dayMs = 86_400_000

/** The scores by name, from their sums by day and those by version or model. */
export function scoreViews(
  byDay: readonly Sum[],
  byKey: readonly Sum[],
  by: "version" | "model",
  from: number,
  to: number,
): ScoreView[] {
  const first = Math.floor(from / dayMs)
  const days = Array.from({ length: Math.max(1, Math.ceil(to / dayMs) - first) }, (_, at) =>
    new Date((first + at) * dayMs).toISOString().slice(0, 10),
  )
  return [...Map.groupBy(byDay, ({ name }) => name)].map(([name, sums]) => {
    const all = together(sums)
    const found = new Map(sums.map((sum) => [sum.day ?? "", sum]))
    return {
      name,
      ...all,
      values: Object.keys(all.shares).toSorted((a, b) => (a === "true" || (b !== "true" && a < b) ? -1 : 1)),
      days: days.map((day) => {
        const sum = found.get(day)
        return { day, results: sum === undefined ? null : together([sum]) }
      }),
      rows: byKey
        .filter((sum) => sum.name === name)
        .map((sum) => ({ key: (by === "version" ? sum.version : sum.model) ?? null, results: together([sum]) })),
    }
  })
}

function together(sums: readonly Sum[]): Results {
  const counted = (of: readonly Sum[]): number => of.reduce((all, { count }) => all + count, 0)
  const numbers = sums.filter(({ mean }) => mean !== undefined)
  const named = sums.filter(({ shares }) => shares !== undefined)
  const shares: Record<string, number> = {}
  for (const { count, shares: own = {} } of named) {
    for (const [value, share] of Object.entries(own)) {
      shares[value] = (shares[value] ?? 0) + (share * count) / counted(named)
    }
  }
  const sum = numbers.reduce((all, { mean = 0, count }) => all + mean * count, 0)
  return { count: counted(sums), mean: numbers.length === 0 ? null : sum / counted(numbers), shares }
}

export interface ScoredRun {
  readonly run: ListedRunAnswer
  readonly value: string
  /** What a judge or a person said of it. */
  readonly why: string
}

/** Runs with this score, the worst first: numbers from below, false before true, other values from the rarest on. */
export function worstFirst(runs: readonly ListedRunAnswer[], { name, shares }: ScoreView): ScoredRun[] {
  const rank = ({ value }: ScoredRun): number => {
    if (value === "true" || value === "false") return value === "true" ? 1 : 0
    const number = Number(value)
    return Number.isNaN(number) ? (shares[value] ?? 0) : number
  }
  return runs
    .flatMap((run) => run.scores.filter((score) => score.name === name).map((score) => ({ run, score })))
    .map(({ run, score }) => ({ run, value: valueOfScore(score), why: reasonOf(score) }))
    .toSorted((a, b) => rank(a) - rank(b))
}
