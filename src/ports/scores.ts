import type { JsonObject } from "../base/json-value.ts"
import type { Usage } from "../log/events.ts"

// What runs were judged by after they had completed (docs/scores.md).

/** A value that is counted. Only a score that is given by hand may be a text. */
export type ScoreValue = boolean | number | string

/** One result: `value` of a computed score, or of one that is given by hand; `output` of a judged one. */
export interface Score {
  readonly name: string
  readonly value?: ScoreValue
  readonly output?: JsonObject
  readonly model?: string
  readonly usage?: Usage
  readonly at: string
  /** Who gave it. Absent for a declared score. */
  readonly by?: string
  readonly comment?: string
}

/** The part of a score that sums and metrics get. */
export interface CountedScore {
  readonly value: ScoreValue
  /** The id of the model that judged; null for any other. */
  readonly model: string | null
}

export interface NewScore {
  /** The score as its run shows it; null where nothing came of a judge, so that only its cost counts. */
  readonly score: Score | null
  readonly name: string
  /** The name of the caller that gave it; null for a declared score. */
  readonly by: string | null
  /** Null for one that is made from private values: only the record of its run shows it. */
  readonly counted: CountedScore | null
  /** When, in milliseconds since the epoch. */
  readonly at: number
  /** In billionths. */
  readonly cost: number
}

/** `there`: a declared score has its result already. `full`: its run has as many as it may have by hand. */
export type PutOutcome = "stored" | "there" | "full" | "open" | "gone"

/** Under this name a run sets apart what its shadow may cost. No score can have it. */
export const shadowAccount = "*shadow"

/** Scores of one run that are given by hand. */
export const mostByHand = 100
/** For how long sums are kept. */
export const scoreDays = 400
export const dayMs = 24 * 3_600_000

export const scoreKeys = ["day", "version", "model"] as const

export type ScoreKey = (typeof scoreKeys)[number]

export interface SumsQuery {
  readonly by: ScoreKey
  /** Null: all callers. */
  readonly caller: string | null
  /** Null: all. */
  readonly workflow: string | null
  readonly name: string | null
  /** Numbers of days since the epoch; `to` is not included. */
  readonly from: number
  readonly to: number
}

/** What came of the scores with one name. `key`: the number of the day, the version, or the id of the model. */
export interface ScoreSum {
  readonly name: string
  readonly key: string
  /** As `textOfValue` writes it; empty for numbers. */
  readonly value: string
  readonly count: number
  readonly sum: number
}

/** The scores with one name and value that a list of runs is searched for: `helpful:bad`. */
export interface ScoreFilter {
  readonly name: string
  readonly value: string
}

export interface ScoreStore {
  /** Completed runs that are to be judged, the first ones first. Each is given again after this time, unless it is done by then. */
  take(limit: number, leaseMs: number): Promise<readonly string[]>
  done(run_id: string): Promise<void>
  /** Sets apart the most that a judge may cost (billionths). False: on this day no more than `most` may be used. Judges and shadows (`shadowAccount`) count apart. */
  reserve(run_id: string, name: string, day: number, cost: number, most: number): Promise<boolean>
  /** A declared score stays as it was given first; one that a caller gives again takes the place of the one before. */
  put(run_id: string, score: NewScore): Promise<PutOutcome>
  /** All of a run, in the order of their times. */
  of(run_id: string): Promise<readonly Score[]>
  sums(query: SumsQuery): Promise<readonly ScoreSum[]>
}

/** A value as a search names it: `bad`, `true`, `0.5`. */
export function shownValue(value: ScoreValue): string {
  return String(value)
}

/** How sums name a value: texts by hand are counted together. */
export function textOfValue({ value }: Pick<CountedScore, "value">, by: string | null): string {
  if (typeof value === "number") return ""
  return typeof value === "string" && by !== null ? "text" : JSON.stringify(value)
}

export function inOrderOfTime(scores: readonly Score[]): Score[] {
  return [...scores].sort((a, b) =>
    a.at < b.at ? -1 : a.at > b.at ? 1 : a.name < b.name ? -1 : a.name > b.name ? 1 : 0,
  )
}
