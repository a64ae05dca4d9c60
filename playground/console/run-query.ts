import type { RunsRequest } from "../../src/client/client.ts"

/** The filters of the list of runs, as they stand in the address: those of `GET /runs`. */
export const filterNames = [
  "q",
  "status",
  "workflow",
  "version",
  "release",
  "score",
  "started_by",
  "error_kind",
  "min_cost",
  "min_seconds",
  "since",
  "until",
  "caller",
] as const
export type FilterName = (typeof filterNames)[number]

export const filterLabels: Readonly<Record<FilterName, string>> = {
  q: "Words",
  status: "Status",
  workflow: "Workflow",
  version: "Version",
  release: "Side of a release",
  score: "Score",
  started_by: "Started by",
  error_kind: "Error",
  min_cost: "Cost at least",
  min_seconds: "Seconds at least",
  since: "Since",
  until: "Until",
  caller: "Caller",
}

const spans: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `2h` and `7d` are so long ago; anything else stands as it is, and the service says what is wrong with it. */
export function timeOf(text: string, now: number): string {
  const [, count = "", unit = ""] = /^(\d{1,4})([mhd])$/.exec(text) ?? []
  const span = spans[unit]
  return span === undefined ? text : new Date(now - Number(count) * span).toISOString()
}

/** What the service is asked for. Numbers and times go as they were typed: the service judges them. */
export function requestOf(params: URLSearchParams, now: number): RunsRequest {
  const given = filterNames.flatMap((name): [string, string][] => {
    const value = params.get(name)?.trim() ?? ""
    if (value === "") return []
    return [[name, name === "since" || name === "until" ? timeOf(value, now) : value]]
  })
  return Object.fromEntries(given)
}

export function hasFilters(params: URLSearchParams): boolean {
  return filterNames.some((name) => (params.get(name) ?? "") !== "")
}
