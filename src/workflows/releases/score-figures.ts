import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { ReleasePlan } from "../../plan/plan-release.ts"
import type { ListedRun } from "../../ports/run-list.ts"
import { mean } from "./figures.ts"

/** By score: the mean of numbers, else the share of each value. A score that no run has is not there. */
export type ScoreFigures = Readonly<Record<string, number | Readonly<Record<string, number>>>>

/** What the declared scores of these runs say. Those that people gave, and those made from private values, are not among them. */
export function scoreFigures(ended: readonly ListedRun[], scores: NonNullable<ReleasePlan["scores"]>): ScoreFigures {
  const found = scores.flatMap(({ name, field, values }): [string, ScoreFigures[string]][] => {
    const given = ended.flatMap((run) => {
      const score = run.scores.find((one) => one.name === name && one.by === undefined)
      return (field === null ? score?.value : score?.output?.[field]) ?? []
    })
    if (given.length === 0) return []
    if (values === null) return [[name, mean(given.filter((one) => typeof one === "number")) ?? 0]]
    return [[name, shares(given, values)]]
  })
  return Object.fromEntries(found)
}

function shares(given: readonly JsonValue[], values: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    values.map((value) => [value, given.filter((one) => shown(one) === value).length / given.length]),
  )
}

function shown(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value)
}

/** As an expression reads it. */
export function asValue(figures: ScoreFigures): JsonObject {
  return figures as object as JsonObject
}
