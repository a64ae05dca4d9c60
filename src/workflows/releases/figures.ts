import type { ErrorKind } from "../../log/events.ts"
import { totalTokens } from "../../log/usage.ts"
import type { ListedRun } from "../../ports/run-list.ts"

/** Figures of the runs of one side. */
export interface Figures {
  /** Runs that have ended. */
  readonly runs: number
  /** The share of them that failed. Null without runs, like the means. */
  readonly failed: number | null
  /** Means. The cost is null where a call had no price. */
  readonly cost: number | null
  readonly seconds: number | null
  readonly tokens: number | null
}

/** Not the workflow failed: the request was refused, or nothing more could be spent. */
export const notJudged: ReadonlySet<ErrorKind> = new Set(["budget_exceeded", "input_error", "cancelled"])

/** The figures of runs that have ended. */
export function figuresOf(ended: readonly ListedRun[]): Figures {
  const judged = ended.filter(
    ({ status, error_kind }) => status !== "cancelled" && (error_kind === null || !notJudged.has(error_kind)),
  )
  const costs = judged.flatMap(({ usage }) => usage.cost ?? [])
  return {
    runs: judged.length,
    failed: mean(judged.map(({ status }) => (status === "failed" ? 1 : 0))),
    cost: costs.length < judged.length ? null : rounded(mean(costs), 1e9),
    seconds: rounded(mean(judged.map((run) => ((run.finished_at ?? run.created_at) - run.created_at) / 1000)), 1e3),
    tokens: rounded(mean(judged.map(({ usage }) => totalTokens(usage))), 10),
  }
}

export function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
}

function rounded(value: number | null, parts: number): number | null {
  return value === null ? null : Math.round(value * parts) / parts
}
