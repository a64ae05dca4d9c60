import { costNumber, shortNumber, showDuration } from "../ui/show.ts"

/** The part of a kept run that tells runs apart. */
export interface RunFigures {
  readonly request: { readonly source: string; readonly input: unknown; readonly around?: unknown }
  readonly status: string
  readonly duration_ms: number
  readonly tokens: number
  readonly cost?: number | null
  readonly result?: string
}

/** Says in words how a run differs from the one before it: source and input, result, time and tokens. */
export function sinceBefore(before: RunFigures, now: RunFigures): readonly string[] {
  const isOther = (one: unknown, other: unknown): boolean => JSON.stringify(one) !== JSON.stringify(other)
  const asked = [
    ...(before.request.source === now.request.source && !isOther(before.request.around, now.request.around)
      ? []
      : ["source"]),
    ...(isOther(before.request.input, now.request.input) ? ["input"] : []),
  ]
  return [
    asked.length === 0 ? "same source and input" : `other ${asked.join(" and ")}`,
    came(before, now),
    more(now.duration_ms - before.duration_ms, showDuration),
    more(now.tokens - before.tokens, (tokens) => `${shortNumber(tokens)} tokens`),
    typeof before.cost === "number" && typeof now.cost === "number" ? more(now.cost - before.cost, costNumber) : "",
  ].filter((part) => part !== "")
}

function came(before: RunFigures, now: RunFigures): string {
  if (before.status !== now.status) return `${now.status}, was ${before.status}`
  if (before.result === undefined || now.result === undefined) return ""
  if (before.result !== now.result) return now.status === "failed" ? "another error" : "another result"
  // A line that is cut does not tell.
  return now.result.endsWith("…") || now.result === "" ? "" : now.status === "failed" ? "same error" : "same result"
}

function more(difference: number, show: (value: number) => string): string {
  return difference === 0 ? "" : `${difference < 0 ? "−" : "+"}${show(Math.abs(difference))}`
}
