import type { KeptRun } from "../state/history.ts"
import { costNumber, showDuration, showNumber } from "../ui/show.ts"

/** What is different in a run from the one before it, in words: what was asked, what came of it, what it took. */
export function sinceBefore(before: KeptRun, now: KeptRun): readonly string[] {
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
    more(now.tokens - before.tokens, (tokens) => `${showNumber(tokens)} tokens`),
    before.cost == null || now.cost == null ? "" : more(now.cost - before.cost, costNumber),
  ].filter((part) => part !== "")
}

function came(before: KeptRun, now: KeptRun): string {
  if (before.status !== now.status) return `${now.status}, was ${before.status}`
  if (before.result === undefined || now.result === undefined) return ""
  if (before.result !== now.result) return now.status === "failed" ? "another error" : "another result"
  // A line that is cut does not tell.
  return now.result.endsWith("…") || now.result === "" ? "" : now.status === "failed" ? "same error" : "same result"
}

function more(difference: number, show: (value: number) => string): string {
  return difference === 0 ? "" : `${difference < 0 ? "−" : "+"}${show(Math.abs(difference))}`
}
