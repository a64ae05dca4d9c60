import type { ListedRunAnswer } from "../../src/client/client.ts"
import { tokensOf } from "../shown-run/run-status.ts"
import { costNumber, counted, shortNumber } from "../ui/show.ts"

/** The runs of one day, newest first. */
export interface RunDay {
  /** `Today`, `Yesterday`, `15 Nov`. */
  readonly name: string
  readonly runs: readonly ListedRunAnswer[]
}

const dayMs = 86_400_000

/** Runs by the day on which they began, in the time zone of the page. */
export function runDays(runs: readonly ListedRunAnswer[], now: number): RunDay[] {
  const days = new Map<string, ListedRunAnswer[]>()
  for (const run of runs) {
    const name = dayName(Date.parse(run.created_at), now)
    const day = days.get(name)
    if (day === undefined) days.set(name, [run])
    else day.push(run)
  }
  return [...days].map(([name, ofDay]) => ({ name, runs: ofDay }))
}

function dayName(at: number, now: number): string {
  const days = Math.round((startOfDay(now) - startOfDay(at)) / dayMs)
  if (days <= 0) return "Today"
  if (days === 1) return "Yesterday"
  const date = new Date(at)
  const part = (options: Intl.DateTimeFormatOptions): string => date.toLocaleString("en", options)
  const year = date.getFullYear() === new Date(now).getFullYear() ? "" : ` ${date.getFullYear()}`
  return `${part({ weekday: "short" })}, ${date.getDate()} ${part({ month: "short" })}${year}`
}

function startOfDay(at: number): number {
  const date = new Date(at)
  return Date.UTC(date.getFullYear(), date.getMonth(), date.getDate())
}

/** `4 runs · 1,204 tokens · cost 0.0123`. What a cancelled run used is known in part, and a run without prices has no cost. */
export function runTotals(runs: readonly ListedRunAnswer[]): string {
  const tokens = runs.reduce((sum, { usage }) => sum + tokensOf(usage), 0)
  const cost = runs.reduce((sum, { usage }) => sum + (usage.cost ?? 0), 0)
  const isLeast = runs.some(({ status }) => status === "cancelled")
  const isPartly = runs.some(({ usage }) => usage.cost === null)
  const least = (part: string, isSo: boolean): string => (isSo ? `at least ${part}` : part)
  return [
    counted(runs.length, "run"),
    tokens === 0 ? "" : least(`${shortNumber(tokens)} tokens`, isLeast),
    cost === 0 ? "" : least(`cost ${costNumber(cost)}`, isLeast || isPartly),
  ]
    .filter((part) => part !== "")
    .join(" · ")
}

/** `deleted in 23 h`; nothing for a run that has not ended. */
export function expiryText(expires_at: string | null, now: number): string {
  if (expires_at === null) return ""
  const minutes = Math.max(0, Math.round((Date.parse(expires_at) - now) / 60_000))
  if (minutes < 1) return "deleted soon"
  if (minutes < 120) return `deleted in ${minutes} min`
  return minutes < 2_880 ? `deleted in ${Math.round(minutes / 60)} h` : `deleted in ${Math.round(minutes / 1_440)} days`
}
