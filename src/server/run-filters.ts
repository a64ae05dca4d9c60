import type { FastifyRequest } from "fastify"
import { parseTime } from "../base/parse-time.ts"
import { notATime, type RunFilters, type SearchFilters } from "../api/run-filters.ts"
import type { RunQuery } from "../ports/run-list.ts"
import type { ScoreFilter } from "../ports/scores.ts"
import type { StatsFilter } from "../ports/run-stats.ts"
import { callerOf } from "./caller-of.ts"
import { refuseAt } from "./http-error.ts"
import { wordsOf, type RunFilter } from "./run-search.ts"

/** The filters of a request, for counts. `caller` is for operators. `path` names where they stand in the request. */
export function readFilters(request: FastifyRequest, given: RunFilters, path = ""): StatsFilter {
  const { isOperator } = request
  const { workflow, since, until, caller, version, release, status, started_by, error_kind, min_cost, min_seconds } =
    given
  if (caller !== undefined && !isOperator) {
    throw refuseAt("invalid_request", `${path}caller`, "`caller` is for operators: a caller's list has its own runs")
  }
  return {
    caller: isOperator ? (caller ?? null) : callerOf(request),
    workflows: workflow === undefined ? null : typeof workflow === "string" ? [workflow] : workflow,
    version: version ?? null,
    release: release ?? null,
    status: status ?? null,
    started_by: started_by ?? null,
    error_kind: error_kind ?? null,
    since: since === undefined ? null : readTime(since, `${path}since`),
    until: until === undefined ? null : readTime(until, `${path}until`),
    min_cost: min_cost ?? null,
    min_seconds: min_seconds ?? null,
  }
}

export interface Search {
  readonly query: Omit<RunQuery, "limit" | "previews" | "after">
  readonly filter: RunFilter
}

/** The same for the list. */
export function readSearch(request: FastifyRequest, given: SearchFilters, path = ""): Search {
  const { min_cost, min_seconds, ...filters } = readFilters(request, given, path)
  const query = {
    ...filters,
    score: given.score === undefined ? null : readScore(given.score),
  }
  return { query, filter: { words: given.q === undefined ? [] : readWords(given.q, path), min_cost, min_seconds } }
}

function readScore(text: string): ScoreFilter {
  const colon = text.indexOf(":")
  return { name: text.slice(0, colon), value: text.slice(colon + 1) }
}

function readWords(text: string, path: string): string[] {
  const words = wordsOf(text)
  if (words.length === 0) throw refuseAt("invalid_request", `${path}q`, "`q` has at least one word")
  return words
}

function readTime(text: string, name: string): number {
  // An unescaped `+` of a query arrives as a blank.
  const ms = parseTime(text.replace(" ", "+"))
  if (ms === undefined) throw refuseAt("invalid_request", name, notATime)
  return ms
}
