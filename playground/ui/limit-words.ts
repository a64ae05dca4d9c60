import { limitKeys } from "../../src/syntax/property-table.ts"
import type { RunState } from "../../src/log/run-state.ts"
import { costNumber, showNumber } from "./show.ts"

type LimitKey = (typeof limitKeys)[number]

type ShownRunLimits = NonNullable<RunState["limits"]>

/** What the page calls each limit. */
export const limitWords: Readonly<Record<LimitKey, { readonly label: string; readonly note: string }>> = {
  cost: { label: "Most cost", note: "What all model calls of the run may cost; their models need prices." },
  tokens: { label: "Most tokens", note: "Input and output of all model calls." },
  model_calls: { label: "Most model calls", note: "Requests to backends, retries included." },
  tool_calls: { label: "Most tool calls", note: "Tool calls and reads of resources." },
  time_seconds: { label: "Most seconds", note: "The run's time, without the time that it waits for people." },
}

export interface LimitFact {
  /** `tokens`, or `greet: tokens` for the limit of an agent. */
  readonly name: string
  /** `812 of 20,000` */
  readonly text: string
  /** From 0 to 1. */
  readonly share: number
}

/** The limits of a run with what is used of each, those of the run first. */
export function limitFacts({ agents = {}, ...run }: ShownRunLimits): LimitFact[] {
  const facts = (set: Omit<ShownRunLimits, "agents">, prefix: string): LimitFact[] =>
    limitKeys.flatMap((key) => {
      const limit = set[key]
      if (limit === undefined) return []
      const text = `${showLimit(key, limit.used)} of ${showLimit(key, limit.limit)}`
      return [{ name: `${prefix}${limitNames[key]}`, text, share: tenantOf(limit) }]
    })
  return [...facts(run, ""), ...Object.entries(agents).flatMap(([name, set]) => facts(set, `${name}: `))]
}

const limitNames: Readonly<Record<LimitKey, string>> = {
  cost: "cost",
  tokens: "tokens",
  model_calls: "model calls",
  tool_calls: "tool calls",
  time_seconds: "time",
}

function showLimit(key: LimitKey, value: number): string {
  if (key === "cost") return costNumber(value)
  return key === "time_seconds" ? `${showNumber(Math.round(value * 10) / 10)} s` : showNumber(value)
}

function tenantOf({ limit, used }: { readonly limit: number; readonly used: number }): number {
  return Math.min(1, Math.max(0, used / limit))
}
