import { groupDigits } from "../base/group-digits.ts"
import type { Usage } from "../log/events.ts"
import { addUsage, noUsage, showUsage } from "../log/usage.ts"
import type { Failure } from "./check-expectation.ts"
import type { TestResult } from "./run-suites.ts"

/** A file that could not be tested, and why. */
export interface BrokenFile {
  readonly file: string
  readonly problem: string
  /** The files are fine, but none has a test to run. */
  readonly isEmpty?: true
}

export interface Totals {
  readonly passed: number
  readonly failed: number
  readonly usage: Usage
  readonly duration_ms: number
}

export function totalsOf(results: readonly TestResult[]): Totals {
  const passed = results.filter((result) => result.passed).length
  return {
    passed,
    failed: results.length - passed,
    usage: showUsage(results.reduce((sum, { usage }) => addUsage(sum, usage), noUsage)),
    duration_ms: results.reduce((sum, { duration_ms }) => sum + duration_ms, 0),
  }
}

/** Tokens and cost, for people. */
export function usageText(usage: Usage): string {
  const tokens = usage.input_tokens + usage.output_tokens
  const { cost } = usage
  const parts = [`${groupDigits(tokens)} ${tokens === 1 ? "token" : "tokens"}`]
  if (cost !== null && cost > 0) parts.push(`cost ${costText(cost)}`)
  return parts.join(", ")
}

/** In the currency of the workflow's prices, which nobody names. */
export function costText(cost: number): string {
  return cost.toFixed(cost < 0.01 ? 6 : cost < 1 ? 4 : 2)
}

/** Failures with how often each came, the most frequent first: samples of one test fail in the same ways. */
export function distinctFailures({ runs }: TestResult): { readonly failure: Failure; readonly times: number }[] {
  const found = new Map<string, { readonly failure: Failure; times: number }>()
  for (const { failures } of runs) {
    for (const failure of failures) {
      const key = `${failure.at} ${failure.text}`
      const known = found.get(key)
      if (known === undefined) found.set(key, { failure, times: 1 })
      else known.times++
    }
  }
  return [...found.values()].sort((a, b) => b.times - a.times)
}

export interface Report {
  readonly results: readonly TestResult[]
  readonly broken: readonly BrokenFile[]
  /** By file: the line of an offset in it. */
  readonly lineOf: (file: string, offset: number) => number
}
